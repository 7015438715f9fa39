/** A JSON Schema of the document. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  pattern?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  example?: unknown;
  examples?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  minItems?: number;
}

/** Example texts by property name; the first matching pattern counts. */
const TEXTS: [RegExp, string][] = [
  [/cron/i, "0 4 * * *"],
  [/^(jobTypeName|jobType)$/, "steward.echo"],
  [/serializedArgs/, '{"text":"hello"}'],
  [/timeZone/i, "America/Sao_Paulo"],
  [/locale/i, "en"],
  [/mail|address|^to$|^cc$|^bcc$|recipients/i, "ada@example.com"],
  [/phone/i, "+5511999990000"],
  [/firstName|displayName/, "Ada"],
  [/lastName/, "Lovelace"],
  [/password/i, "correct horse battery staple"],
  [/accessToken/, "eyJhbGciOiJFZERTQSJ9.e30.c2lnbmF0dXJl"],
  [/refreshToken/, "kX3n-v0Zb2Q1rT8uYw5sAa"],
  [/^token$/, "device-token-0001"],
  [/fileName/i, "invoice.pdf"],
  [/contentType/i, "application/pdf"],
  [/^(templateId)$/, "users"],
  [/slug/i, "welcome"],
  [/^profile$/, "document"],
  [/sha256/, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"],
  [/etag/i, "9f86d081884c7d659a2feaa0c55ad015"],
  [/traceId/i, "4bf92f3577b34da6a3ce929d0e0e4736"],
  [/permission|^code$/i, "read:users"],
  [/actionUrl/, "https://product.example/welcome"],
  [/url$/i, "https://steward.example/welcome"],
  [/subject/i, "Welcome"],
  [/html/i, "<p>Hello Ada</p>"],
  [/body|text|message/i, "Hello Ada"],
  [/^ip/, "203.0.113.7"],
  [/queue/i, "default"],
  [/userAgent/, "Mozilla/5.0"],
  [/duration/i, "00:00:01.250"],
];
/** Texts for other names; the first that matches the schema counts. */
const FILLERS = ["example", "read:users", "1", "00:00:01.250", "2026-01-31T12:00:00Z", "https://example.com"];
/** Properties that are usually null. */
const USUALLY_NULL =
  /lockout|deleted|purge|error|rejection|cancel|retain|signature|failed|fail|suspend|paused/i;
const UUID = "0198f1c2-7a3b-7c4d-8e5f-6a7b8c9d0e1f";
const DEEPEST = 8;

/** A realistic value that `schema` accepts. @param name the property that has the value */
export function exampleOf(schema: Schema, schemas: Record<string, Schema>, name = "", depth = 0): unknown {
  const { $ref } = schema;
  if ($ref) {
    const referred = $ref.slice($ref.lastIndexOf("/") + 1);
    return exampleOf(schemas[referred] ?? {}, schemas, name, depth);
  }
  if (schema.example !== undefined) return schema.example;
  if (schema.examples?.length) return schema.examples[0];
  const types = [schema.type].flat();
  if (types.includes("null") && USUALLY_NULL.test(name)) return null;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (schema.default !== undefined && schema.default !== null) return schema.default;
  if (schema.allOf) {
    return Object.assign({}, ...schema.allOf.map((part) => exampleOf(part, schemas, name, depth)));
  }
  const [choice] = schema.anyOf ?? schema.oneOf ?? [];
  if (choice) return exampleOf(choice, schemas, name, depth);
  const [type] = types;
  if (type === "object") return exampleObject(schema, schemas, depth);
  if (type === "array") {
    const isNothing = schema.items === undefined || depth >= DEEPEST && !schema.minItems;
    return isNothing ? [] : [exampleOf(schema.items ?? {}, schemas, name, depth + 1)];
  }
  if (type === "string") return exampleText(schema, name);
  if (type === "integer" || type === "number") return exampleNumber(schema, name);
  if (type === "boolean") return /^is(Active|Enabled|Current|Default)$/.test(name);
  return type === "null" ? null : {};
}

function exampleObject(schema: Schema, schemas: Record<string, Schema>, depth: number) {
  const required = new Set(schema.required);
  const properties = Object.entries(schema.properties ?? {})
    .filter(([name]) => required.has(name) || depth < 2)
    .map(([name, property]) => [name, exampleOf(property, schemas, name, depth + 1)]);
  if (properties.length > 0) return Object.fromEntries(properties);
  const { additionalProperties: more } = schema;
  return typeof more === "object" && more.type ? { name: exampleOf(more, schemas, "", depth + 1) } : {};
}

function exampleText(schema: Schema, name: string): string {
  if (schema.format === "uuid") return UUID;
  if (schema.format === "date-time") return "2026-01-31T12:00:00.000Z";
  if (schema.format === "date") return "2026-01-31";
  const { minLength = 0, maxLength = Infinity } = schema;
  const fits = (text: string) =>
    text.length >= minLength && text.length <= maxLength &&
    (!schema.pattern || new RegExp(schema.pattern, "u").test(text));
  const named = TEXTS.filter(([pattern]) => pattern.test(name)).map(([, text]) => text);
  const found = [...named, ...FILLERS].find(fits) ?? "example";
  if (schema.format === "uri" && !URL.canParse(found)) return "https://steward.example/welcome";
  return found;
}

function exampleNumber({ minimum, exclusiveMinimum }: Schema, name: string): number {
  const least = minimum ?? (exclusiveMinimum === undefined ? 0 : exclusiveMinimum + 1);
  const usual = /bytes/i.test(name) ? 48_213 : /ms$|pageSize/i.test(name) ? 20 : 1;
  return Math.max(least, usual);
}
