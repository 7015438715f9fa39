import type { OpenApiDocument } from "../../shared/openapi.ts";
import type { Schema } from "../../shared/openapi_examples.ts";

type Described = Schema & { description?: string };

const DEEPEST = 4;

/** The members of a schema as a list; members that are objects can be opened. */
export function SchemaView({ document, schema, depth = 0 }: {
  document: OpenApiDocument;
  schema: Schema;
  depth?: number;
}) {
  const { properties, required } = membersOf(document, schema);
  const names = Object.keys(properties);
  if (names.length === 0) {
    return (
      <p>
        <code>{typeName(document, schema)}</code>
      </p>
    );
  }
  return (
    <dl class="members">
      {names.map((name) => {
        const member = properties[name] as Described;
        const inner = innerOf(document, member);
        const hasMembers = Object.keys(membersOf(document, inner).properties).length > 0;
        return (
          <div>
            <dt>
              <code>{name}</code>
              {required.has(name) && <span class="required">required</span>}
              <span class="muted">{typeName(document, member)}</span>
            </dt>
            <dd>
              {member.description && <p>{member.description}</p>}
              {hasMembers && depth < DEEPEST && (
                <details>
                  <summary>Members</summary>
                  <SchemaView document={document} schema={inner} depth={depth + 1} />
                </details>
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** Follows references. */
function resolved(document: OpenApiDocument, schema: Schema): Schema {
  const name = schema.$ref?.slice("#/components/schemas/".length);
  return name ? resolved(document, document.components.schemas[name] ?? {}) : schema;
}

/** The object that a member is, or a list or choice of. */
function innerOf(document: OpenApiDocument, schema: Schema): Schema {
  const found = resolved(document, schema);
  if (found.items) return innerOf(document, found.items);
  const [choice] = (found.anyOf ?? found.oneOf ?? []).filter(({ type }) => type !== "null");
  return choice ? innerOf(document, choice) : found;
}

function membersOf(document: OpenApiDocument, schema: Schema) {
  const found = resolved(document, schema);
  const parts = [found, ...(found.allOf ?? []).map((part) => resolved(document, part))];
  return {
    properties: Object.assign({}, ...parts.map(({ properties }) => properties ?? {})) as Record<
      string,
      Schema
    >,
    required: new Set(parts.flatMap(({ required }) => required ?? [])),
  };
}

/** The type in words: "string (uuid)", "array of UserDto", "Low | Normal". */
export function typeName(document: OpenApiDocument, schema: Schema): string {
  if (schema.$ref) return schema.$ref.slice("#/components/schemas/".length);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map(String).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map((choice) => typeName(document, choice)))].join(" | ");
  if (schema.allOf) return schema.allOf.map((part) => typeName(document, part)).join(" and ");
  const types = [schema.type].flat().map((type) => type ?? "any value");
  const names = types.map((type) =>
    type === "array" ? `array of ${typeName(document, schema.items ?? {})}` : type
  );
  return `${names.join(" | ")}${schema.format ? ` (${schema.format})` : ""}${limits(schema)}`;
}

function limits({ minimum, maximum, minLength, maxLength }: Schema): string {
  const range = (least: number | undefined, most: number | undefined, unit: string) =>
    most !== undefined && most < 2_147_483_647
      ? `, ${least ?? 0} to ${most}${unit}`
      : least !== undefined
      ? `, at least ${least}${unit}`
      : "";
  return range(minimum, maximum, "") + range(minLength, maxLength, " characters");
}
