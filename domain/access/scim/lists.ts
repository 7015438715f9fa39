import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
import { isUuid } from "../../shared/ids.ts";
import { instant, isObject } from "../../shared/shapes.ts";
import { type Comparison, type Filter, nameOf, parsePath, type Target, type Value } from "./filter.ts";
import { type ResourceType, scimProblem } from "./schema.ts";
import type { Resource } from "./values.ts";

/** The most resources of one page. */
export const MAX_RESULTS = 200;
export const LAST_INDEX = 2_147_483_647;

/** A search (RFC 7644, 3.4.2 and 3.4.3). */
export interface ListRequest {
  filter?: string | undefined;
  sortBy?: string | undefined;
  descending: boolean;
  /** From 1. */
  startIndex: number;
  count: number;
}

export interface ResourceList {
  total: number;
  resources: Resource[];
}

/** The page that a client asks for: numbers that are too small or large count as the nearest possible ones. */
export const pageOf = (startIndex = 1, count = MAX_RESULTS / 2) => ({
  startIndex: Math.min(Math.max(startIndex, 1), LAST_INDEX),
  count: Math.min(Math.max(count, 0), MAX_RESULTS),
});

/** SQL order of a list, without the words `order by`; ties by id. @throws invalidPath */
export function orderOf(
  q: Sql,
  type: ResourceType,
  columns: Record<string, Column>,
  { sortBy, descending }: ListRequest,
  id: SqlPart,
): SqlPart {
  if (sortBy === undefined) return id;
  const { target } = parsePath(type, sortBy);
  const name = target ? nameOf(target) : sortBy;
  const column = Object.hasOwn(columns, name) ? columns[name] : undefined;
  if (!column) {
    throw scimProblem(
      "invalidPath",
      `sortBy is ${sortBy}; expected one of ${Object.keys(columns).join(", ")}.`,
    );
  }
  const value = column.key ? q`${q.unsafe(column.key)}(${column.sql(q)})` : column.sql(q);
  return descending ? q`${value} desc nulls first, ${id} desc` : q`${value} nulls last, ${id}`;
}

/** The attributes that an answer has: only these, or all but these. Names of unknown attributes are ignored. */
export interface Projection {
  attributes: string[];
  excludedAttributes: string[];
}

const ALWAYS = ["schemas", "id", "meta"];

/** The parts of a resource that the client asks for; `schemas`, `id` and `meta` are always there. */
export function project(type: ResourceType, resource: Resource, asked: Projection): Resource {
  const without = new Set(asked.excludedAttributes.map((name) => keyOf(type, name)));
  const only = asked.attributes.map((name) => keyOf(type, name));
  const parts = (of: Resource, prefix: string, isWhole: boolean): Resource =>
    Object.fromEntries(
      Object.entries(of).flatMap(([name, value]): [string, unknown][] => {
        if (prefix === "" && ALWAYS.includes(name)) return [[name, value]];
        const key = prefix + name.toLowerCase();
        const isAsked = isWhole || only.includes(key);
        if (without.has(key) || !isAsked && !only.some((each) => each.startsWith(`${key}.`))) return [];
        const inner = (each: unknown) => isObject(each) ? parts(each, `${key}.`, isAsked) : each;
        return [[name, Array.isArray(value) ? value.map(inner) : inner(value)]];
      }),
    );
  return parts(resource, "", only.length === 0);
}

/** True if the client asks for this attribute, which costs a statement of its own. */
export const asksFor = (type: ResourceType, name: string, asked: Projection): boolean =>
  name in project(type, { [name]: [] }, asked);

/** The lower-case path of a name, without the URN of the core schema; attributes of the extension are below its URN. */
function keyOf({ core, extension }: ResourceType, name: string): string {
  const key = name.trim().toLowerCase();
  const [coreUrn, urn] = [core.id.toLowerCase(), extension?.id.toLowerCase()];
  if (key.startsWith(`${coreUrn}:`)) return key.slice(coreUrn.length + 1);
  return urn !== undefined && key.startsWith(`${urn}:`) ? `${urn}.${key.slice(urn.length + 1)}` : key;
}

/** A column by which a list is filtered. `key`: the SQL function whose results are compared; absent: texts are exact. */
export interface Column {
  kind: "text" | "id" | "boolean" | "time";
  sql(q: Sql): SqlPart;
  key?: "mail_key" | "same_text";
  /** A condition that an index answers, and that all rows meet whose column contains the `PLAIN` text. */
  narrowed?(q: Sql, text: string): SqlPart;
}

/** Texts of printable ASCII that contain a trigram and have no outer or repeated spaces: no form of a text changes them. */
const PLAIN = /^[!-~](?=[ -~]{2})(?: ?[!-~])+$/;

/** Columns of one of several values of an attribute, by the name of its attribute. */
type ColumnsOfOne = (name: string) => Column | undefined;

/** The filterable attributes of a resource type, by name. `any`: the condition that one of several values passes `inner`. */
export interface Filterable {
  columns: Record<string, Column>;
  any: Record<string, (q: Sql, inner: (columns: ColumnsOfOne) => SqlPart) => SqlPart>;
}

/** The SQL condition of a filter. Values are parameters. @throws invalidFilter for what has no column */
export function conditionOf(q: Sql, filter: Filter, { columns, any }: Filterable): SqlPart {
  /** @param among columns of one of the values of an attribute; null: those of the resource */
  const inner = (each: Filter, among: ColumnsOfOne | null): SqlPart => {
    switch (each.op) {
      case "and":
        return q`(${inner(each.left, among)} and ${inner(each.right, among)})`;
      case "or":
        return q`(${inner(each.left, among)} or ${inner(each.right, among)})`;
      case "not":
        return q`(${inner(each.inner, among)}) is not true`; // what is absent is not equal
    }
    const { target } = each;
    const column = among ? among(target.sub?.name ?? "value") : columns[nameOf(target)];
    if (column && each.op !== "some") return comparison(q, column, target, each);
    const some = among ? undefined : any[target.attribute.name];
    if (!some) throw notFilterable(target);
    return some(q, (columnOf) => inner(each.op === "some" ? each.inner : each, columnOf));
  };
  return inner(filter, null);
}

const notFilterable = (target: Target) =>
  scimProblem("invalidFilter", `The filter names ${nameOf(target)}, by which the list cannot be filtered.`);

function comparison(
  q: Sql,
  column: Column,
  target: Target,
  filter: { op: "pr" } | { op: Comparison; value: Value },
): SqlPart {
  const found = column.sql(q);
  if (filter.op === "pr") return column.kind === "text" ? q`${found} <> ''` : q`${found} is not null`;
  const { op, value } = filter;
  if (value === null) {
    if (op === "eq") return q`${found} is null`;
    if (op === "ne") return q`${found} is not null`;
  }
  const compared = value === null ? null : COMPARE[column.kind](q, column, op, value);
  if (compared) return compared;
  throw scimProblem(
    "invalidFilter",
    `The filter compares ${nameOf(target)} with ${op}, which it does not take.`,
  );
}

type Compare = (q: Sql, column: Column, op: Comparison, value: Exclude<Value, null>) => SqlPart | null;

const SIGNS: Partial<Record<Comparison, string>> = {
  gt: ">",
  ge: ">=",
  lt: "<",
  le: "<=",
  eq: "=",
  ne: "<>",
};

const COMPARE: Record<Column["kind"], Compare> = {
  text(q, { sql, key, narrowed }, op, value) {
    const [a, b] = key
      ? [q`${q.unsafe(key)}(${sql(q)})`, q`${q.unsafe(key)}(${String(value)})`]
      : [sql(q), q`${String(value)}::text`];
    const isPart = (condition: SqlPart) =>
      narrowed && PLAIN.test(String(value)) ? q`(${narrowed(q, String(value))} and ${condition})` : condition;
    switch (op) {
      case "eq":
        return q`${a} = ${b}`;
      case "ne":
        return q`${a} is distinct from ${b}`;
      case "co":
        return isPart(q`strpos(${a}, ${b}) > 0`);
      case "sw":
        return isPart(q`starts_with(${a}, ${b})`);
      case "ew":
        return isPart(q`right(${a}, length(${b})) = ${b}`);
      default:
        return null;
    }
  },
  id(q, { sql }, op, value) {
    if (op !== "eq" && op !== "ne") return null;
    const isSame = isUuid(String(value)) ? q`${sql(q)} = ${String(value)}` : q`false`;
    return op === "eq" ? isSame : q`not ${isSame}`;
  },
  boolean(q, { sql }, op, value) {
    if (op !== "eq" && op !== "ne") return null;
    return (value === true) === (op === "eq") ? sql(q) : q`not ${sql(q)}`;
  },
  time(q, { sql }, op, value) {
    const { data } = instant.safeParse(value);
    const sign = SIGNS[op];
    return data && sign ? q`${sql(q)} ${q.unsafe(sign)} ${data}` : null;
  },
};
