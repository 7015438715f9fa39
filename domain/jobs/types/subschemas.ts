type Schema = Record<string, unknown>;

const ONE = [
  "additionalProperties",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
];
const LISTS = ["allOf", "anyOf", "oneOf", "prefixItems"];
const MAPS = ["$defs", "definitions", "dependentSchemas", "dependencies", "patternProperties", "properties"];

/** The subschemas directly inside of a valid JSON Schema (2020-12), without `true` and `false`. */
export function subschemasOf(schema: Schema): Schema[] {
  const of = (names: string[]) => names.flatMap((name) => Object.hasOwn(schema, name) ? [schema[name]] : []);
  const candidates = [
    ...of(ONE),
    ...of(LISTS).flatMap((list) => Array.isArray(list) ? list : []),
    ...of(MAPS).flatMap((map) => isObject(map) ? Object.values(map) : []),
  ];
  return candidates.filter(isObject);
}

const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
