// Wrong values of the members of bodies and queries, derived from the schemas of the API document.
import { exampleOf, type Schema } from "../../../routes/shared/openapi_examples.ts";
import { type Parameter, parametersOf } from "../../../routes/shared/openapi_sharing.ts";
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

/** Values of a wrong type, by the accepted type. A lenient reader would convert the first ones. */
const OF_OTHER_TYPES: Record<string, Json[]> = {
  string: [7, {}],
  integer: ["5", true],
  number: ["5", true],
  boolean: ["true", 1],
  array: ["text", {}],
  object: ["text", []],
};

function ofOtherType({ types }: Member): Json | undefined {
  const [usual] = [...types].filter((type) => type !== "null");
  if (!usual) return undefined;
  const isOf = (value: Json) =>
    Array.isArray(value) ? ["array"] : typeof value === "number" ? ["number", "integer"] : [typeof value];
  return OF_OTHER_TYPES[usual]?.find((value) => !isOf(value).some((type) => types.has(type)));
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

/** The bodies of these endpoints are looked at only after another check, which the base request does not pass. */
const LATE = new Set([
  "completeFile", // the parts of an upload: after the state of the file
  "finishOpenIdSignIn", // after the provider, which is a server
  "finishSamlSignIn", // after the provider too
]);

const ABSENT = Symbol("absent");
type Wrong = Json | typeof ABSENT | undefined;

/** The ways in which a member is wrong; each gives the wrong value, or undefined if it cannot be wrong in this way. */
const WAYS: Record<string, (member: Member, schemas: Schemas, spec: Endpoint) => Wrong> = {
  "of another type": ofOtherType,
  // in a PUT, null stands for an absent member that cannot be null
  "null": ({ types, isRequired }, _, { method }) =>
    types.size === 0 || types.has("null") || method === "put" && !isRequired ? undefined : null,
  "absent": ({ isRequired }) => isRequired ? ABSENT : undefined,
  "too large": tooLarge,
  "too small": tooSmall,
  "of another form": misfit,
  "with NUL": ({ name, types, schema: { format, enum: names } }) =>
    types.has("string") && !format && !names && name !== "refreshToken" ? "a\0b" : undefined, // that one is unknown: 401
};
/** Only the first of these is named. */
const FIRST_ONLY = "with NUL";

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

/**
 * Sends requests in which all members of an object are wrong in the same way. Those that the refusal does not name are sent
 * again, one by one, because some are only looked at when the others are right.
 */
async function mistakesIn<W>(
  spec: Endpoint,
  o: {
    what: string;
    at: string[];
    ways: string[];
    members: Member[];
    wrongOf(way: string, member: Member): W | undefined;
    send(wrong: Record<string, W>): Promise<HttpAnswer>;
  },
): Promise<string[]> {
  const found: string[] = [];
  for (const way of o.ways) {
    const wrong: [path: string, name: string, value: W][] = [];
    for (const member of o.members) {
      const value = o.wrongOf(way, member);
      if (value !== undefined) wrong.push([[...o.at, member.name].join("."), member.name, value]);
    }
    if (wrong.length === 0) continue;
    if (way === FIRST_ONLY) wrong.splice(0, wrong.length - 1);
    const together = await o.send(Object.fromEntries(wrong.map(([, name, value]) => [name, value])));
    for (const [path, name, value] of wrong) {
      if (isNamed(spec, together, path)) continue;
      const alone = wrong.length === 1 ? together : await o.send({ [name]: value } as Record<string, W>);
      if (isNamed(spec, alone, path)) continue;
      const shown = typeof value === "symbol" ? "absent" : JSON.stringify(value).slice(0, 60);
      const told = JSON.stringify(alone.body?.errors ?? alone.body?.detail ?? "").slice(0, 200);
      found.push(`${spec.id} ${o.what} ${path} ${way} (${shown}): ${codeOf(alone)} ${told}`);
    }
  }
  return found;
}

/** Is the answer a VALIDATION_ERROR that names the member, or a part of it, or the list of which it is an element? */
function isNamed(spec: Endpoint, answer: HttpAnswer, path: string): boolean {
  if (codeOf(answer) !== "400 VALIDATION_ERROR") return false;
  const list = path.replace(/(\.0)+$/, "");
  return namedMembers(spec, answer)?.some((name) =>
    name === path || name.startsWith(`${path}.`) || name === list && list !== path
  ) ?? false;
}

/** Names nothing. It has no version and no variant of RFC 9562, and letters in upper case. */
const ANY_ID = "11111111-AAAA-1111-1111-111111111111";

const isId = ({ schema }: Pick<Member, "schema">, schemas: Schemas): boolean =>
  choicesOf(schema, schemas).some(({ format }) => format === "uuid");

/**
 * Every wrong member of a body, parameter of a query, and id in a path is named. The shape of an endpoint's declaration, from
 * which its schema is made, is all that reads its path; so paths are sent to one endpoint of each area, method and schema.
 */
export async function memberMistakes(c: Contract): Promise<string[]> {
  const paths = new Set<string>();
  return await forAll(c.endpoints, async (spec) => {
    const operation = c.document.paths[spec.path]?.[spec.method];
    if (!operation || LATE.has(spec.id) || spec.path.startsWith("/oauth/")) return [];
    const inPath = parametersOf(c.document, operation).filter((parameter) => {
      const kind = JSON.stringify([spec.area, spec.method, parameter.name, parameter.schema]);
      return parameter.in === "path" && !paths.has(kind) && paths.add(kind);
    });
    return [
      ...await bodyMistakes(c, spec),
      ...await queryMistakes(c, spec),
      ...await pathMistakes(c, spec, inPath),
    ];
  });
}

/** A name that the member accepts, in another case, if it accepts names. */
function inOtherCase({ schema }: Pick<Member, "schema">, schemas: Schemas): string | undefined {
  const names = choicesOf(schema, schemas).flatMap(({ enum: names = [], const: only }) => [...names, only]);
  return names.filter((name) => typeof name === "string").map((name) =>
    name === name.toLowerCase() ? name.toUpperCase() : name.toLowerCase()
  ).find((name) => !names.includes(name));
}

async function bodyMistakes(c: Contract, spec: Endpoint): Promise<string[]> {
  const { schemas } = c.document.components;
  const body = c.document.paths[spec.path]?.[spec.method]?.requestBody?.content["application/json"];
  const ask = c.ask(spec);
  const found: string[] = [];
  for (const { at, members } of body ? groupsOf(body.schema, schemas) : []) {
    const send = (wrong: Record<string, Wrong>) =>
      c.send(c.by(spec), spec, {
        ...ask,
        body: withMembers(ask.body, at, wrong, body?.schema ?? {}, schemas),
      });
    const wrongOf = (way: string, member: Member) => WAYS[way]?.(member, schemas, spec);
    found.push(
      ...await mistakesIn(spec, { what: "member", at, ways: Object.keys(WAYS), members, wrongOf, send }),
    );
    // ids of another form, null, where it is allowed, and names in another case are not named if another member is wrong
    const ids = members.filter((member) => isId(member, schemas)).map(({ name }) => [name, ANY_ID]);
    const nulls = members.filter(({ types }) => types.has("null")).map(({ name }) => [name, null]);
    const names = at.includes("passkey") // an object of the browser
      ? []
      : members.map((member) => [member.name, inOtherCase(member, schemas)]).filter(([, value]) => value);
    const right = Object.fromEntries([...ids, ...nulls, ...names]);
    const wrong = members.find((member) => !(member.name in right) && ofOtherType(member) !== undefined);
    if (Object.keys(right).length === 0 || !wrong) continue;
    const answer = await send({ ...right, [wrong.name]: ofOtherType(wrong) });
    for (const name of Object.keys(right)) {
      const path = [...at, name].join(".");
      if (isNamed(spec, answer, path)) {
        found.push(`${spec.id} member ${path}: ${JSON.stringify(answer.body)}`);
      }
    }
  }
  return found;
}

/** The ways in which a parameter of a query is wrong; each gives its values. */
const QUERY_WAYS: Record<string, (member: Member, schemas: Schemas, ask: Ask) => string[] | undefined> = {
  "of another form": (member, schemas) => {
    if (member.types.has("integer") || member.types.has("boolean")) return ["1.5x"];
    const { items } = resolved(member.schema, schemas);
    const value = misfit(items ? { ...member, schema: items } : member, schemas);
    return value ? [String(value)] : undefined;
  },
  "too large": (member, schemas) => {
    const value = tooLarge(member, schemas);
    if (Array.isArray(value)) return value.map(() => crypto.randomUUID());
    return value === undefined ? undefined : [String(value)];
  },
  "too small": (member, schemas) => {
    const value = tooSmall(member, schemas);
    return typeof value === "number" ? [String(value)] : undefined;
  },
  "repeated": ({ types, schema, name }, schemas, ask) => {
    const value = String(ask.query?.[name] ?? exampleOf(schema, schemas, name));
    return types.has("array") ? undefined : [value, value];
  },
  "absent": ({ isRequired }) => isRequired ? [] : undefined,
  [FIRST_ONLY]: ({ types, schema: { format, enum: names } }) =>
    types.has("string") && !format && !names ? ["a\0b"] : undefined,
};

async function queryMistakes(c: Contract, spec: Endpoint): Promise<string[]> {
  const { schemas } = c.document.components;
  const operation = c.document.paths[spec.path]?.[spec.method];
  const ask = c.ask(spec);
  const isIgnored = (name: string) => name === "tenantId" && c.by(spec) !== c.t.systemAdmin; // the token has a tenant
  const queries = operation
    ? parametersOf(c.document, operation).filter(({ in: place, name }) =>
      place === "query" && !isIgnored(name)
    )
    : [];
  const names = queries.flatMap(({ name, schema }) => {
    const value = inOtherCase({ schema: resolved(schema, schemas).items ?? schema }, schemas);
    return value === undefined ? [] : [[name, value]];
  });
  const number = queries.find(({ schema }) => typesOf(schema, schemas).has("integer"));
  if (names.length > 0 && number) { // names in another case are not named if another parameter is wrong
    const search = new URLSearchParams([...names, [number.name, "none"]]).toString();
    const answer = await c.send(c.by(spec), spec, ask, { search });
    const strict = names.filter(([name = ""]) => isNamed(spec, answer, name));
    if (strict.length > 0) return [`${spec.id} refuses ${new URLSearchParams(strict)}`];
  }
  return await mistakesIn<string[]>(spec, {
    what: "parameter",
    at: [],
    ways: Object.keys(QUERY_WAYS),
    members: queries.map(({ name, schema, required = false }) => ({
      name,
      schema,
      isRequired: required,
      types: typesOf(schema, schemas),
    })),
    wrongOf: (way, member) => QUERY_WAYS[way]?.(member, schemas, ask),
    send: (wrong) => {
      const others = Object.entries(ask.query ?? {}).filter(([name]) => !(name in wrong));
      const pairs = Object.entries(wrong).flatMap(([name, values]) => values.map((value) => [name, value]));
      return c.send(c.by(spec), spec, ask, { search: new URLSearchParams([...others, ...pairs]).toString() });
    },
  });
}

async function pathMistakes(c: Contract, spec: Endpoint, parameters: Parameter[]): Promise<string[]> {
  const found: string[] = [];
  const ask = c.ask(spec);
  for (const { name, schema } of parameters) {
    const hasIds = isId({ schema }, c.document.components.schemas);
    const value = hasIds ? "no-uuid" : "\u0001 é";
    const answer = await c.send(c.by(spec), spec, { ...ask, params: { ...ask.params, [name]: value } });
    const ofAny = hasIds &&
      await c.send(c.by(spec), spec, { ...ask, params: { ...ask.params, [name]: ANY_ID } });
    if (ofAny && isNamed(spec, ofAny, name)) {
      found.push(`${spec.id} with ${ANY_ID} as ${name}: ${codeOf(ofAny)}`);
    }
    const isRight = hasIds ? isNamed(spec, answer, name) : answer.status >= 400 && answer.status < 500;
    if (!isRight) {
      found.push(
        `${spec.id} with ${value} as ${name}: ${codeOf(answer)} ${
          JSON.stringify(answer.body)?.slice(0, 200)
        }`,
      );
    }
  }
  return found;
}
