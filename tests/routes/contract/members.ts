// Wrong values of the members of bodies and queries, derived from the schemas of the API document.
import { exampleOf, type Schema } from "../../../routes/shared/openapi_examples.ts";
import { parametersOf } from "../../../routes/shared/openapi_sharing.ts";
import type { Endpoint } from "../../../routes/shared/endpoint.ts";
import type { HttpAnswer } from "../../support/http.ts";
import type { Ask } from "../../support/isolation.ts";
import { codeOf, forAll, namedMembers } from "./calls.ts";
import type { Contract } from "./contract.ts";

type Schemas = Record<string, Schema>;
type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** The members of one object of a body, or the elements of one list. */
interface Group {
  /** Where it is in the body. */
  at: string[];
  members: Member[];
}

interface Member {
  name: string;
  schema: Schema;
  isRequired: boolean;
  types: Set<string>;
}

const DEEPEST = 3;

/** The schema without references and with the parts of `allOf` merged. */
function resolved(schema: Schema, schemas: Schemas): Schema {
  const { $ref, allOf } = schema;
  if ($ref) return resolved(schemas[$ref.slice($ref.lastIndexOf("/") + 1)] ?? {}, schemas);
  if (!allOf) return schema;
  const parts = allOf.map((part) => resolved(part, schemas));
  return {
    ...Object.assign({}, ...parts),
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    required: parts.flatMap(({ required = [] }) => required),
  };
}

/** The alternatives of a schema. */
function choicesOf(schema: Schema, schemas: Schemas): Schema[] {
  const whole = resolved(schema, schemas);
  const choices = whole.anyOf ?? whole.oneOf;
  return choices ? choices.flatMap((choice) => choicesOf(choice, schemas)) : [whole];
}

/** The JSON types that a schema accepts; empty: any. */
function typesOf(schema: Schema, schemas: Schemas): Set<string> {
  const types = choicesOf(schema, schemas).map(({ type, const: only, enum: names }) => {
    if (type) return [type].flat();
    const values = only !== undefined ? [only] : names ?? [];
    return values.map((value) => value === null ? "null" : typeof value);
  });
  return types.some((some) => some.length === 0) ? new Set() : new Set(types.flat());
}

/** The objects and lists of a body, up to the depth. */
function groupsOf(schema: Schema, schemas: Schemas, at: string[] = []): Group[] {
  const found = choicesOf(schema, schemas).map((choice): Group[] => {
    const { properties, required = [], items } = choice;
    const parts = items ? { 0: items } : properties ?? {};
    const members = Object.entries(parts).map(([name, part]) => ({
      name,
      schema: part,
      isRequired: required.includes(name),
      types: typesOf(part, schemas),
    }));
    if (members.length === 0) return [];
    const deeper = at.length + 1 < DEEPEST
      ? members.flatMap(({ name, schema }) => groupsOf(schema, schemas, [...at, name]))
      : [];
    return [{ at, members }, ...deeper];
  });
  return found.length === 1 ? found.flat() : found.find((groups) => groups.length > 0) ?? [];
}

/** Values of a wrong type, by the accepted type. The first is the one that a lenient reader would convert. */
const OF_OTHER_TYPES: Record<string, Json[]> = {
  string: [7, {}],
  integer: ["5", true],
  number: ["5", true],
  boolean: ["true", 1],
  array: ["text", {}],
  object: ["text", []],
};

function ofOtherType({ types }: Member, nth: number): Json | undefined {
  const [usual] = [...types].filter((type) => type !== "null");
  if (!usual) return undefined;
  const isOf = (value: Json) =>
    Array.isArray(value) ? ["array"] : typeof value === "number" ? ["number", "integer"] : [typeof value];
  return (OF_OTHER_TYPES[usual] ?? []).filter((value) => !isOf(value).some((type) => types.has(type)))[nth];
}

/** A text of `length` characters in the member's format, as far as it has one. */
const longText = (length: number): string => "a".repeat(length);

/** A value outside of the bounds of the schema: too long, too many, too large. */
function tooLarge(member: Member, schemas: Schemas): Json | undefined {
  for (const choice of choicesOf(member.schema, schemas)) {
    const { maxLength, maxItems, maximum, exclusiveMaximum } = choice as Schema & Record<string, number>;
    if (maxLength !== undefined) return longText(maxLength + 1);
    if (maxItems !== undefined && maxItems < 100_000) {
      return Array.from(
        { length: maxItems + 1 },
        () => exampleOf(choice.items ?? {}, schemas, member.name) as Json,
      );
    }
    if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER) return maximum + 1;
    if (exclusiveMaximum !== undefined) return exclusiveMaximum;
  }
}

function tooSmall(member: Member, schemas: Schemas): Json | undefined {
  for (const choice of choicesOf(member.schema, schemas)) {
    const { minLength, minItems, minimum, exclusiveMinimum } = choice;
    if (minLength) return longText(minLength - 1);
    if (minItems) return [];
    if (minimum !== undefined && minimum > -Number.MAX_SAFE_INTEGER) return minimum - 1;
    if (exclusiveMinimum !== undefined) return exclusiveMinimum;
  }
}

const MISFITS = ["no such value", "", "\u0001", "x".repeat(300)];

/** A text of another form: no UUID, no instant, none of the names, no match of the pattern; a fraction for an integer. */
function misfit(member: Member, schemas: Schemas): Json | undefined {
  const choices = choicesOf(member.schema, schemas);
  if (choices.some(({ type }) => type === "integer") && !member.types.has("number")) return 1.5;
  if (choices.some(({ type, enum: names }) => typeof type === "object" && !names)) return undefined;
  const texts = choices.filter(({ type, enum: names, const: only }) => type === "string" || names || only);
  if (texts.length === 0) return undefined;
  return MISFITS.find((text) =>
    texts.every(({ format, pattern, enum: names, const: only, minLength = 0, maxLength = Infinity }) => {
      if (text.length < minLength || text.length > maxLength) return false;
      if (pattern) return !new RegExp(pattern, "u").test(text);
      return format !== undefined || names !== undefined && !names.includes(text) || only !== undefined;
    })
  );
}

/** What is only looked at after another check, which the base request does not pass. */
const LATE = new Set([
  "completeFile", // the parts of an upload: after the state of the file
  "finishOpenIdSignIn", // after the provider, which is a server
]);

const ABSENT = Symbol("absent");
type Wrong = Json | typeof ABSENT | undefined;

/** The ways in which a member is wrong; each gives the wrong value, or undefined if it cannot be wrong in this way. */
const WAYS: Record<string, (member: Member, schemas: Schemas, spec: Endpoint) => Wrong> = {
  "of another type": (member) => ofOtherType(member, 0),
  "of yet another type": (member) => ofOtherType(member, 1),
  // in a PUT, null stands for an absent member that cannot be null
  "null": ({ types, isRequired }, _, { method }) =>
    types.size === 0 || types.has("null") || method === "put" && !isRequired ? undefined : null,
  "absent": ({ isRequired }) => isRequired ? ABSENT : undefined,
  "too large": tooLarge,
  "too small": tooSmall,
  "of another form": misfit,
};

/** `body` with these values at this place. What is missing on the way is made from the schema. */
function withMembers(
  body: unknown,
  at: string[],
  wrong: Record<string, Wrong>,
  schema: Schema,
  schemas: Schemas,
): Json {
  const [name, ...rest] = at;
  const choice = choicesOf(schema, schemas).find(({ properties, items }) => properties ?? items) ?? {};
  const base = typeof body === "object" && body !== null ? body : exampleOf(choice, schemas, name);
  const copy = (Array.isArray(base) ? [...base] : { ...base as object }) as Record<string, Json>;
  if (name !== undefined) {
    const part = choice.items ?? choice.properties?.[name] ?? {};
    copy[name] = withMembers(copy[name], rest, wrong, part, schemas);
    return copy as Json;
  }
  for (const [name, value] of Object.entries(wrong)) {
    if (value === ABSENT) delete copy[name];
    else copy[name] = value as Json;
  }
  return copy as Json;
}

/** A wrong member, and how it must be refused. */
interface Expected {
  /** Its dotted path. */
  path: string;
  /** How it is wrong. */
  way: string;
}

/**
 * Sends requests in which all members of a group are wrong in the same way. Those that the refusal does not name are sent
 * again, one by one, because some are only looked at when the others are right.
 */
export async function memberMistakes(c: Contract): Promise<string[]> {
  const { schemas } = c.document.components;
  return await forAll(c.endpoints, async (spec) => {
    const operation = c.document.paths[spec.path]?.[spec.method];
    const schema = operation?.requestBody?.content["application/json"]?.schema;
    if (!operation || LATE.has(spec.id) || spec.path.startsWith("/oauth/")) return [];
    const by = c.by(spec);
    const ask = c.ask(spec);
    const found: string[] = [];
    const send = (wrong: Record<string, Wrong>, at: string[]) =>
      c.send(by, spec, { ...ask, body: withMembers(ask.body, at, wrong, schema ?? {}, schemas) });
    for (const { at, members } of schema ? groupsOf(schema, schemas) : []) {
      for (const [way, wrongOf] of Object.entries(WAYS)) {
        const wrong = new Map<string, Wrong>();
        for (const member of members) {
          const value = wrongOf(member, schemas, spec);
          if (value !== undefined) wrong.set(member.name, value);
        }
        if (wrong.size === 0) continue;
        const clearable = way === "null" ? members.filter(({ types }) => types.has("null")) : [];
        const nulls = Object.fromEntries(clearable.map(({ name }) => [name, null]));
        const together = await send({ ...nulls, ...Object.fromEntries(wrong) }, at);
        for (const { name } of clearable) {
          const path = [...at, name].join(".");
          if (isNamed(spec, together, path)) {
            found.push(mistake(spec, `body member ${path} may be null`, null, together));
          }
        }
        for (const [name, value] of wrong) {
          const path = [...at, name].join(".");
          if (isNamed(spec, together, path)) continue;
          const alone = wrong.size === 1 ? together : await send({ [name]: value }, at);
          if (!isNamed(spec, alone, path)) {
            found.push(mistake(spec, `body member ${path} ${way}`, value, alone));
          }
        }
      }
    }
    return [...found, ...await parameterMistakes(c, spec, ask)];
  });
}

const mistake = (spec: Endpoint, what: string, value: Wrong, answer: HttpAnswer) =>
  `${spec.id} ${what} (${value === ABSENT ? "absent" : JSON.stringify(value)?.slice(0, 60)}): ${
    codeOf(answer)
  } ${JSON.stringify(answer.body?.errors ?? answer.body?.detail ?? "").slice(0, 200)}`;

/** Is the answer a VALIDATION_ERROR that names the member, or a part of it? */
function isNamed(spec: Endpoint, answer: HttpAnswer, path: string): boolean {
  if (codeOf(answer) !== "400 VALIDATION_ERROR") return false;
  const list = path.replace(/(\.0)+$/, ""); // for an element, also the list may be named
  return namedMembers(spec, answer)?.some((name) =>
    name === path || name.startsWith(`${path}.`) || name === list && list !== path
  ) ?? false;
}

/** The same for parameters of the query and of the path. */
async function parameterMistakes(c: Contract, spec: Endpoint, ask: Ask): Promise<string[]> {
  const { schemas } = c.document.components;
  const operation = c.document.paths[spec.path]?.[spec.method];
  if (!operation) return [];
  const by = c.by(spec);
  const found: string[] = [];
  const parameters = parametersOf(c.document, operation);
  const queries = parameters.filter(({ in: place }) => place === "query");
  const ways: Record<string, (member: Member) => string[] | undefined> = {
    "of another form": (member) => {
      const { types } = member;
      if (types.has("integer") || types.has("boolean")) return ["1.5x"];
      const isList = types.has("array");
      const items = isList
        ? { ...member, schema: resolved(member.schema, schemas).items ?? {}, types: new Set<string>() }
        : member;
      const value = misfit(items, schemas);
      return typeof value === "string" && value !== "" ? [value] : undefined;
    },
    "too large": (member) => {
      const value = tooLarge(member, schemas);
      if (value === undefined) return undefined;
      return Array.isArray(value) ? value.map(() => crypto.randomUUID()) : [String(value)];
    },
    "too small": (member) => {
      const value = tooSmall(member, schemas);
      return typeof value === "number" ? [String(value)] : undefined;
    },
    "repeated": ({ types, schema, name }) => {
      const value = String(ask.query?.[name] ?? exampleOf(schema, schemas, name));
      return types.has("array") ? undefined : [value, value];
    },
    "absent": ({ isRequired }) => isRequired ? [] : undefined,
  };
  const search = (wrong: Map<string, string[]>) =>
    new URLSearchParams([
      ...Object.entries(ask.query ?? {}).filter(([name]) => !wrong.has(name)),
      ...[...wrong].flatMap(([name, values]) => values.map((value) => [name, value])),
    ]).toString();
  for (const [way, wrongOf] of Object.entries(ways)) {
    const wrong = new Map<string, string[]>();
    for (const { name, schema, required } of queries) {
      const values = wrongOf({
        name,
        schema,
        isRequired: required === true,
        types: typesOf(schema, schemas),
      });
      if (values) wrong.set(name, values);
    }
    if (wrong.size === 0) continue;
    const together = await c.send(by, spec, ask, { search: search(wrong) });
    for (const [name, values] of wrong) {
      if (isNamed(spec, together, name)) continue;
      const alone = wrong.size === 1
        ? together
        : await c.send(by, spec, ask, { search: search(new Map([[name, values]])) });
      if (!isNamed(spec, alone, name)) found.push(mistake(spec, `parameter ${name} ${way}`, values, alone));
    }
  }
  for (const { name, in: place, schema } of parameters) {
    if (place !== "path" || resolved(schema, schemas).format !== "uuid") continue;
    const answer = await c.send(by, spec, { ...ask, params: { ...ask.params, [name]: "no-uuid" } });
    if (!isNamed(spec, answer, name)) found.push(mistake(spec, `path parameter ${name}`, "no-uuid", answer));
  }
  return found;
}
