import type { OpenApiDocument, Operation } from "../../shared/openapi.ts";
import type { Schema } from "../../shared/openapi_examples.ts";
import { codesIn } from "../../shared/openapi_refusals.ts";
import { type Parameter, parametersOf } from "../../shared/openapi_sharing.ts";

/** An operation with its place. */
export interface Placed {
  method: string;
  path: string;
  operation: Operation;
}

/** One operation in the reference: parameters, body, answers, a form that sends it, and code that calls it. */
export function OperationView({ document, placed }: { document: OpenApiDocument; placed: Placed }) {
  const { operation, method, path } = placed;
  const [[bodyType, body] = []] = Object.entries(operation.requestBody?.content ?? {});
  const parameters = parametersOf(document, operation);
  return (
    <div class="operation-body">
      {operation.description && <Prose text={operation.description} />}
      <form
        class="try"
        data-method={method}
        data-path={path}
        data-body={bodyType ?? ""}
        data-open={operation.security ? "true" : ""}
      >
        {parameters.length > 0 && <h3>Parameters</h3>}
        {parameters.map((parameter) => (
          <ParameterField id={operation.operationId} parameter={parameter} document={document} />
        ))}
        {body && bodyType && <BodyField id={operation.operationId} type={bodyType} example={body.example} />}
        <p class="row">
          <button type="submit" class="button primary">Send</button>
          <span class="muted" data-needs-sign-in hidden>Sign in above first.</span>
        </p>
        <div class="answer" data-answer aria-live="polite" hidden></div>
      </form>
      <details>
        <summary>Call it from code</summary>
        <div class="samples" data-samples></div>
      </details>
      {body && bodyType === "application/json" && (
        <details>
          <summary>Members of the body</summary>
          <SchemaView document={document} schema={body.schema} />
        </details>
      )}
      <Answers document={document} operation={operation} />
    </div>
  );
}

function ParameterField({ id, parameter, document }: {
  id: string;
  parameter: Parameter;
  document: OpenApiDocument;
}) {
  const { name, in: place, required, description, schema, example } = parameter;
  const field = `${id}-${place}-${name}`;
  const hint = [typeName(document, schema), description].filter(Boolean).join(". ");
  return (
    <div class="field">
      <label for={field}>
        <code>{name}</code>
        {required ? <span class="required">required</span> : null}
        {place !== "query" && <span class="muted">{place}</span>}
      </label>
      <input
        id={field}
        name={name}
        data-in={place}
        aria-describedby={`${field}-hint`}
        value={required && example !== undefined ? String(example) : ""}
        required={required}
        autocomplete="off"
      />
      <p class="hint" id={`${field}-hint`}>{hint}</p>
    </div>
  );
}

function BodyField({ id, type, example }: { id: string; type: string; example: unknown }) {
  const field = `${id}-body`;
  if (type === "application/json") {
    const text = JSON.stringify(example ?? {}, null, 2);
    return (
      <div class="field">
        <label for={field}>Body</label>
        <textarea id={field} data-json rows={Math.min(18, text.split("\n").length + 1)} spellcheck={false}>
          {text}
        </textarea>
      </div>
    );
  }
  if (type === "application/x-www-form-urlencoded") {
    return (
      <div class="field">
        <label for={field}>Form (name=value, one a line)</label>
        <textarea id={field} data-form rows={5} spellcheck={false}></textarea>
      </div>
    );
  }
  return (
    <div class="field">
      <label for={field}>{`Content (${type})`}</label>
      <input type="file" id={field} data-file />
    </div>
  );
}

function Answers({ document, operation }: { document: OpenApiDocument; operation: Operation }) {
  return (
    <>
      <h3>Answers</h3>
      <dl class="answers">
        {Object.entries(operation.responses).map(([status, response]) => {
          const shared = "$ref" in response
            ? document.components.responses[response.$ref.slice("#/components/responses/".length)]
            : response;
          const description = "description" in response ? response.description : shared?.description ?? "";
          const codes = codesIn(description);
          const schema = "content" in response ? response.content?.["application/json"]?.schema : undefined;
          return (
            <div>
              <dt>
                <code>{status === "default" ? "other" : status}</code>
              </dt>
              <dd>
                {codes.length > 0
                  ? (
                    <ul class="codes">
                      {codes.map((code) => (
                        <li>
                          <a href={`problems/${code}`}>
                            <code>{code}</code>
                          </a>
                        </li>
                      ))}
                    </ul>
                  )
                  : <p>{description}</p>}
                {schema && (
                  <details>
                    <summary>{`Members of ${typeName(document, schema)}`}</summary>
                    <SchemaView document={document} schema={schema} />
                  </details>
                )}
              </dd>
            </div>
          );
        })}
      </dl>
    </>
  );
}

/** Text with `code`. */
export const Coded = ({ text }: { text: string }) => (
  <span>{text.split("`").map((part, index) => index % 2 === 1 ? <code>{part}</code> : part)}</span>
);

/** A paragraph with `code`. */
export const Prose = ({ text }: { text: string }) => (
  <p>
    <Coded text={text} />
  </p>
);

type Described = Schema & { description?: string };

const DEEPEST = 4;

/** The members of a schema as a list; members that are objects can be opened. */
function SchemaView({ document, schema, depth = 0 }: {
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
function typeName(document: OpenApiDocument, schema: Schema): string {
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
