import { Ajv2020 } from "ajv/dist/2020.js";
import { RE2JS } from "re2js";
import { isObject } from "../../shared/shapes.ts";

/** Maximum number of subschemas, because compiling takes time for each. */
const MAX_SUBSCHEMAS = 500;
/** Base cost of a check of any subschema: mainly that of the error if the value does not fit. */
const COST_OF_ANY = 20;
/** Member that is added to each subschema: the further cost of one check of it. */
const COST = "x-steward-cost";
const TOO_COSTLY = "too large to be checked against the schema of the job type";

/** The only `$schema`. The validator of a schema does not know it, because it has no meta-schema. */
const DIALECT = "https://json-schema.org/draft/2020-12/schema";

type Schema = Record<string, unknown>;
type Mistake = { path: string[]; message: string };

/** Checks schemas against the meta-schema. It is shared, because compiling that takes tens of milliseconds. */
const meta = new Ajv2020({ strict: false, logger: false, validateFormats: false });

/**
 * Compiles a schema to a function that returns the first mistake of a value; null if it fits.
 * @throws Error if the schema is not valid
 */
export function compileSchema(schema: Schema): (value: unknown) => Mistake | null {
  const { $schema = DIALECT, ...rest } = schema;
  if ($schema !== DIALECT && $schema !== `${DIALECT}#`) throw new Error(`$schema must be ${DIALECT}`);
  if (!meta.validateSchema(schema)) throw new Error(meta.errorsText(meta.errors, { dataVar: "schema" }));
  const validate = ownAjv().compile(withCosts(rest));
  return (value) => {
    try {
      if (withBudget(() => validate(value))) return null;
      const { instancePath, message = "does not fit the schema" } = validate.errors?.[0] ?? {};
      return { path: instancePath?.split("/").slice(1) ?? [], message };
    } catch (error) {
      if (!(error instanceof CheckTooCostly) && !(error instanceof RangeError)) throw error; // RangeError: the stack overflowed
      return { path: [], message: TOO_COSTLY };
    }
  };
}

/** Creates a validator for one schema, so that its ids do not clash with those of other schemas. */
function ownAjv(): Ajv2020 {
  const own = new Ajv2020({
    strict: false,
    logger: false,
    validateFormats: false,
    meta: false,
    inlineRefs: false,
    code: { regExp: linearPattern, optimize: false },
  });
  own.removeKeyword("uniqueItems"); // compares each pair
  own.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    validate: (isUnique: boolean, items: unknown[]) => !isUnique || areUnique(items),
  });
  own.addKeyword({
    keyword: COST,
    before: "$ref", // before the subschemas of the same place
    validate(cost: number, data: unknown) {
      spend(COST_OF_ANY + cost * sizeOf(data));
      return true;
    },
  });
  return own;
}

function areUnique(items: unknown[]): boolean {
  const printed = new Set<string>();
  for (const item of items) {
    const text = canonical(item);
    spend(COST_OF_ANY + 2 * text.length);
    printed.add(text);
  }
  return printed.size === items.length;
}

/** JSON with sorted members, so that equal values are equal texts. */
const canonical = (value: unknown): string =>
  JSON.stringify(
    value,
    (_, inner) =>
      isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1)) : inner,
  );

function sizeOf(data: unknown): number {
  if (typeof data === "string") return 1 + data.length / 8;
  if (typeof data !== "object" || data === null) return 1;
  return 1 + (Array.isArray(data) ? data.length : Object.keys(data).length);
}

/** The schema with the cost of each subschema: the size of its own members. */
function withCosts(schema: Schema): Schema {
  const copy: Schema = structuredClone(schema);
  const open = [copy];
  for (let at = 0; at < open.length; at++) {
    if (open.length > MAX_SUBSCHEMAS) throw new Error(`more than ${MAX_SUBSCHEMAS} subschemas`);
    const subschema = open[at] ?? {};
    if (COST in subschema) throw new Error(`the member ${COST} is reserved`);
    const inner = subschemasOf(subschema);
    const isInner = new Set<unknown>(inner);
    const own = JSON.stringify(subschema, (_, value) => isInner.has(value) ? 0 : value);
    subschema[COST] = own.length / 8;
    open.push(...inner);
  }
  return copy;
}

/** Maximum cost of a check, in units of about ten nanoseconds: a fraction of a second. */
const BUDGET = 30_000_000;

/** Thrown when a check costs more than its budget. */
class CheckTooCostly extends Error {
  override name = "CheckTooCostly";
}

/** The rest of the running check's budget. A check is synchronous, so only one runs at a time. */
let left = 0;

/** Runs a check that calls `spend`. @throws CheckTooCostly */
function withBudget<T>(check: () => T): T {
  left = BUDGET;
  return check();
}

/** Takes `cost` from the budget of the running check. @throws CheckTooCostly */
function spend(cost: number): void {
  left -= cost;
  if (left < 0) throw new CheckTooCostly("the check costs too much");
}

/** Compiles a pattern that is matched in linear time. @throws Error for syntax that RE2 does not have */
const linearPattern = Object.assign((pattern: string) => {
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return {
    test(text: string) {
      spend(text.length * pattern.length);
      return compiled.matcher(text).find();
    },
    /** The validator tells patterns apart by it. */
    toString: () => pattern,
  };
}, { code: "linearPattern" });

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
function subschemasOf(schema: Schema): Schema[] {
  const of = (names: string[]) => names.flatMap((name) => Object.hasOwn(schema, name) ? [schema[name]] : []);
  const candidates = [
    ...of(ONE),
    ...of(LISTS).flatMap((list) => Array.isArray(list) ? list : []),
    ...of(MAPS).flatMap((map) => isObject(map) ? Object.values(map) : []),
  ];
  return candidates.filter(isObject);
}
