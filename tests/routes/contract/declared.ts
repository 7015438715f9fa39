// The declared contract as text, one line for each endpoint: who may call it, and what it takes. The checks of this folder are
// derived from the same declarations, so they would follow a permission or a limit that was changed by mistake; the stored
// text does not. `deno run -A tests/routes/contract/declared.ts` writes it. The actions in the audit log at the end of the lines
// are not declared anywhere else; they are written by hand, except those of records.
import { join } from "node:path";
import { capitalNames } from "../../../domain/records/record_type.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import { ENDPOINTS } from "../../../routes/endpoints.ts";
import { type Endpoint, takesKey } from "../../../routes/shared/endpoint.ts";
import { type OpenApiDocument, openApiDocument } from "../../../routes/shared/openapi.ts";
import type { Schema } from "../../../routes/shared/openapi_examples.ts";
import { parametersOf } from "../../../routes/shared/openapi_sharing.ts";

const FILE = join(import.meta.dirname ?? ".", "declared.txt");

const AUDIT = " | audit ";

export const storedContract = async (): Promise<string[]> =>
  (await Deno.readTextFile(FILE)).trimEnd().split("\n");

/** The actions that a successful request of an endpoint writes into the audit log, by its id. */
export async function storedAudits(): Promise<Map<string, string>> {
  const lines = (await storedContract()).filter((line) => line.includes(AUDIT));
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(AUDIT) + AUDIT.length)]),
  );
}

/** The actions of the routes of records, by the id of the endpoint; they follow from the name. */
const auditsOfRecords = (): [id: string, action: string][] =>
  RECORDS.flatMap((record) => {
    const { One, Many } = capitalNames(record);
    return [
      [`create${One}`, `${record.one}.create`],
      [`create${Many}`, `${record.one}.create`],
      [`update${One}`, `${record.one}.update`],
      [`delete${One}`, `${record.one}.delete`],
    ] as [string, string][];
  });

/** @param stored the written actions by the id of the endpoint */
export function declaredContract(stored: ReadonlyMap<string, string>, document: OpenApiDocument): string[] {
  const audits = new Map([...stored, ...auditsOfRecords()]);
  return ENDPOINTS.map((spec) => {
    const action = audits.get(spec.id);
    return lineOf(spec, document) + (action ? AUDIT + action : "");
  }).sort();
}

function lineOf(spec: Endpoint, document: OpenApiDocument): string {
  const { schemas } = document.components;
  const operation = document.paths[spec.path]?.[spec.method];
  const queries = (operation ? parametersOf(document, operation) : []).filter(({ in: place }) =>
    place === "query"
  );
  const query = queries.map(({ name, required, schema }) =>
    `${name}${required ? "!" : ""} ${sketch(schema, schemas)}`
  );
  const bodies = Object.entries(operation?.requestBody?.content ?? {}).map(([type, { schema }]) =>
    `${type === "application/json" ? "body" : type} ${sketch(schema, schemas)}`
  );
  const answers = Object.entries(spec.answers).map(([status, { etag }]) =>
    `${status}${etag ? " with ETag" : ""}`
  );
  return [
    `${spec.id} ${spec.method.toUpperCase()} ${[spec.path, ...spec.alsoAt ?? []].join(" ")}`,
    whoMay(spec),
    ...takesKey(spec) ? [`Idempotency-Key ${spec.creates}`] : [],
    ...spec.creates === "a secret" ? ["shows a secret"] : [],
    ...spec.problems.includes("PRECONDITION_FAILED") ? ["If-Match"] : [],
    ...spec.bodyLimit ? [`${spec.bodyLimit} bytes`] : [],
    ...spec.quota === "none" ? ["unlimited"] : [],
    ...spec.quota === "reports" ? ["report"] : [],
    answers.join(", "),
    ...query.length > 0 ? [`query ${query.join(", ")}`] : [],
    ...bodies.map((body) => spec.bodyOptional ? `${body}, optional` : body),
  ].join(" | ");
}

function whoMay({ access }: Endpoint): string {
  const {
    permissions,
    needsCaller,
    needsTenant,
    personsOnly,
    forEnrolling,
    clientScope,
    forSetup,
    needsStepUp,
  } = access;
  if (!needsCaller) return "anyone";
  return [
    permissions.join(" or ") || "signed in",
    ...needsTenant ? ["in a tenant"] : [],
    ...personsOnly ? ["persons only"] : [],
    ...forEnrolling ? ["for enrolling"] : [],
    ...clientScope ? [`for ${clientScope}`] : [],
    ...forSetup ? ["for set-up links"] : [],
    ...needsStepUp ? ["after step-up"] : [],
  ].join(", ");
}

/** A schema in short: types with bounds, members with `!` if they are required. */
function sketch(schema: Schema, schemas: Record<string, Schema>, within: string[] = []): string {
  const { $ref } = schema;
  if ($ref) {
    const name = $ref.slice($ref.lastIndexOf("/") + 1);
    return within.includes(name) ? name : sketch(schemas[name] ?? {}, schemas, [...within, name]);
  }
  const part = (inner: Schema) => sketch(inner, schemas, within);
  const { type, allOf, anyOf, oneOf, enum: names, const: only, properties, items, required = [] } = schema;
  if (allOf) return allOf.map(part).join(" & ");
  const choices = anyOf ?? oneOf;
  if (choices) return choices.map(part).join(" | ");
  if (only !== undefined) return JSON.stringify(only);
  const end = schema.default === undefined ? "" : ` = ${JSON.stringify(schema.default)}`;
  if (names) return names.map((name) => JSON.stringify(name)).join(" | ") + end;
  if (properties) {
    const members = Object.entries(properties).map(([name, inner]) =>
      `${name}${required.includes(name) ? "!" : ""} ${part(inner)}`
    );
    return `{${members.join(", ")}}${orNull(type)}`;
  }
  if (items) return `[${part(items)}]${boundsOf(schema)}${orNull(type)}${end}`;
  return `${[type ?? "any"].flat().join(" | ")}${boundsOf(schema)}${end}`;
}

const orNull = (type: Schema["type"]) => [type].flat().includes("null") ? " | null" : "";

const BOUNDS = [
  "format",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "minItems",
  "maxItems",
];

function boundsOf(schema: Schema): string {
  const bounds = BOUNDS.filter((name) => name in schema).map((name) =>
    `${name} ${schema[name as keyof Schema]}`
  );
  return bounds.length > 0 ? ` (${bounds.join(", ")})` : "";
}

if (import.meta.main) {
  const document = openApiDocument(ENDPOINTS, { baseUrl: "http://steward.test", version: "1" });
  await Deno.writeTextFile(FILE, declaredContract(await storedAudits(), document).join("\n") + "\n");
}
