import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
import { type Column, nameOf } from "./conditions.ts";
import { parsePath } from "./filter.ts";
import { type ResourceType, scimProblem } from "./schema.ts";
import { isObject, type Resource } from "./values.ts";

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
