// Checks that a route gives an outsider nothing of another tenant.
import assert from "node:assert/strict";
import { capitalNames } from "../../domain/records/record_type.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import type { Endpoint } from "../../routes/shared/endpoint.ts";
import type { HttpAnswer, HttpClient } from "./http.ts";
import type { Actor, TestService } from "./setup.ts";

/** Parts of a request besides its route. */
export interface Ask {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
}

/**
 * How an outsider calls a route, and the expected outcome. `K` are the kinds of the victim's objects.
 * - `open`: needs no sign-in; the reason why it reveals nothing of a tenant.
 * - `refused`: the outsider may not use the route at all.
 * - `names`: the request names an object of the victim through `id`, and answers `code`. The same request with
 *   names that do not exist must get the same answer, unless the row says `absent`.
 * - `own`: the route acts on the caller's own data; it must succeed (or answer `code`) and show nothing else.
 */
export type Row<K extends string = string> =
  | { open: string }
  | { refused: "MISSING_PERMISSION"; ask: (id: (kind: K) => string) => Ask }
  | { names(id: (kind: K) => string, world: World<K>): Ask; code: string; absent?: string }
  | { own(world: World<K>): Ask; code?: string; throwaway?: true };

/** By operation id. */
export type Rows<K extends string = string> = Record<string, Row<K>>;

/** Two tenants: one with an object of every kind, and one of an outsider with all permissions there. */
export interface World<K extends string = string> {
  t: Pick<TestService, "actor">;
  sql: Sql;
  /** Permissions of both callers in their own tenants. */
  permissions: string[];
  victim: Actor;
  outsider: Actor;
  /** The victim's objects by kind. */
  ids: Record<K, string>;
  /** Objects of the outsider by kind, which the bodies of others name. */
  own?: Record<string, string>;
  /** Names of the same form that do not exist. */
  absent: Record<K, string>;
  /** Texts that only the victim's rows contain. */
  texts: string[];
  /** Database schemas whose tables are compared. */
  schemas: string[];
}

/** In texts of the victim's objects. */
export const MARKER = "VictimsOwnText";

/** Value of the parameters of a path that have no other. */
const NOTHING = crypto.randomUUID();

/** A route with its parameters filled in; parameters without a value get one that does not exist. */
export function pathOf(path: string, { params = {}, query = {} }: Ask): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name] ?? NOTHING));
  const search = new URLSearchParams(query).toString();
  return search ? `${filled}?${search}` : filled;
}

export const send = (by: HttpClient, spec: Endpoint, ask: Ask, headers: Record<string, string> = {}) =>
  by.send(spec.method.toUpperCase(), pathOf(spec.path, ask), ask.body, headers);

/**
 * The rows of the six routes of a resource.
 * @param kind kind of the object whose id the routes name
 * @param bodyOf the body of create and update
 */
export function resourceRows<K extends string>(
  kind: K,
  record: { one: string; many: string; notFound: string },
  bodyOf: Record<string, unknown> | ((world: World<K>) => Record<string, unknown>),
): Rows<K> {
  const body = typeof bodyOf === "function" ? bodyOf : () => bodyOf;
  const { One, Many } = capitalNames(record);
  const named = (body?: (world: World<K>) => unknown): Row<K> => ({
    names: (id, world) => ({ params: { id: id(kind) }, ...(body ? { body: body(world) } : {}) }),
    code: record.notFound,
  });
  return {
    [`list${Many}`]: { own: () => ({ query: { includeDeleted: "true" } }) },
    [`read${One}`]: named(),
    [`create${One}`]: { own: (world) => ({ body: body(world) }) },
    [`create${Many}`]: {
      own: () => ({ body: { items: [], continueOnError: true } }),
      code: "VALIDATION_ERROR",
    },
    [`update${One}`]: named(body),
    [`delete${One}`]: named(),
  };
}

/** Checks that there is one row for every route, and no other. */
export function hasRowForEachRoute(endpoints: readonly Endpoint[], rows: Rows): void {
  const ids = endpoints.map((spec) => spec.id);
  assert.equal(new Set(ids).size, ids.length, "operation ids are unique");
  assert.deepEqual(
    ids.filter((id) => !Object.hasOwn(rows, id)),
    [],
    "routes without a row; add one to `rows`",
  );
  assert.deepEqual(
    Object.keys(rows).filter((id) => !ids.includes(id)),
    [],
    "rows of routes that do not exist",
  );
}

/** Checks that every route that needs a caller refuses a request without a token before any other check. */
export async function refusesWithoutToken(nobody: HttpClient, endpoints: readonly Endpoint[]): Promise<void> {
  for (const spec of endpoints.filter((spec) => spec.access.needsCaller)) {
    for (const path of [spec.path, ...spec.alsoAt ?? []]) {
      const answer = await send(nobody, { ...spec, path }, { params: { id: "not an id" } });
      assert.equal(`${answer.status} ${answer.body.code}`, "401 TOKEN_MISSING", `${spec.method} ${path}`);
    }
  }
}

/** Calls the route as the outsider. @throws AssertionError for another answer than that of the row, or one about the victim */
export async function askAsOutsider(world: World, spec: Endpoint, row: Row): Promise<void> {
  if ("open" in row) {
    assert.equal(spec.access.needsCaller, false, "a route that needs a caller must be tried");
    return;
  }
  const { outsider, victim, ids, absent } = world;
  const steer = { "x-tenant-id": victim.tenantId ?? "" }; // ignored: the token has a tenant
  if ("own" in row) {
    const by = row.throwaway ? await anotherOutsider(world) : outsider;
    const ask = row.own(world);
    const answer = await send(by, spec, ask, steer);
    if (row.code) assert.equal(answer.body.code, row.code);
    else assert.ok(answer.status < 400, `expected success, found ${said(answer, ids)}`);
    const named = [...Object.values(ask.params ?? {}), ...Object.values(ask.query ?? {})];
    revealsNothing(world, answer, new Set(named));
    return;
  }
  const ask = "refused" in row ? row.ask : (id: (kind: string) => string) => row.names(id, world);
  const [theirs, none] = [namer(ids), namer(absent)];
  const answer = await send(outsider, spec, ask(theirs.id), steer);
  revealsNothing(world, answer, theirs.used);
  const expected = "refused" in row ? row.refused : row.code;
  assert.equal(answer.body.code, expected, `found ${said(answer, ids)}`);
  const control = await send(outsider, spec, ask(none.id), steer);
  if ("names" in row && row.absent) assert.equal(control.body.code, row.absent);
  else assert.equal(said(answer, ids), said(control, absent), "the same as for what does not exist");
}

/** Checks that the outsider's object cannot refer to objects of the victim: they are refused like ones that do not exist. */
export async function refersToNoneOfVictim(
  world: World,
  create: Endpoint,
  bodyOf: (id: (kind: string) => string) => unknown,
): Promise<void> {
  const { outsider, ids, absent } = world;
  const theirs = await send(outsider, create, { body: bodyOf(namer(ids).id) });
  assert.ok(theirs.status >= 400, `expected a refusal, found ${said(theirs, ids)}`);
  const none = await send(outsider, create, { body: bodyOf(namer(absent).id) });
  assert.equal(said(theirs, ids), said(none, absent), "the same as for what does not exist");
}

/** Another caller like the outsider, for routes that end the caller's session. */
const anotherOutsider = ({ t, outsider, permissions }: World): Promise<Actor> =>
  t.actor({ tenantId: outsider.tenantId ?? "", permissions });

/** Names of a caller's objects or missing ones; remembers which were used. */
export function namer(names: Record<string, string>) {
  const used = new Set<string>();
  const id = (kind: string) => {
    const name = names[kind];
    if (name === undefined) {
      const known = Object.keys(names).join(", ");
      throw new Error(
        `the caller has no object of the kind "${kind}", only: ${known}; list its sample first`,
      );
    }
    used.add(name);
    return name;
  };
  return { id, used };
}

/** The answer without its trace, and with requested names replaced by their kind. */
function said({ status, headers, body }: HttpAnswer, names: Record<string, string>): string {
  const { traceId: _, ...rest } = typeof body === "object" && body !== null ? body : { text: body };
  let text = JSON.stringify({
    status,
    type: headers.get("content-type"),
    etag: headers.get("etag"),
    ...rest,
  });
  for (const [kind, name] of Object.entries(names)) {
    text = text.replaceAll(name, `<${kind}>`).replaceAll(encodeURIComponent(name), `<${kind}>`);
  }
  return text;
}

/** What only the victim's rows contain. */
export const tracesOf = ({ victim, ids, texts }: World): string[] => [
  victim.userId,
  ...texts,
  ...Object.values(ids),
];

/** Checks that the answer contains nothing of the victim except what the request named. */
export function revealsNothing(world: World, answer: HttpAnswer, named: Set<string>): void {
  const text = JSON.stringify(answer.body) + JSON.stringify([...answer.headers]);
  const revealed = tracesOf(world).filter((trace) => !named.has(trace) && text.includes(trace));
  assert.deepEqual(revealed, [], `the answer reveals ${revealed}: ${text.slice(0, 2000)}`);
}

/** Counters of jobs and their executions, which are written and added up some seconds after the jobs. */
const LATE_TABLES =
  `job_type_figures job_count_changes job_counts job_creation_count_changes job_creation_counts
    execution_count_changes execution_counts job_throughput`.split(/\s+/);

/** Every database row that contains a trace of the victim, by table. @param named names that the outsider used */
export async function victimsRows(
  world: World,
  named: ReadonlySet<string> = new Set(),
): Promise<Record<string, string[]>> {
  const { sql } = world;
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname = any(${world.schemas}) and tablename <> all(${LATE_TABLES}) order by 1`;
  const traces = tracesOf(world).filter((trace) => !named.has(trace)).map((trace) => `%${trace}%`);
  const looks = tables.map(({ name }) =>
    `select '${name}' as name, x::text as row from ${name} x where x::text like any($1::text[])`
  );
  const query = `${looks.join(" union all ")} order by 1, 2`;
  const found = await sql.unsafe<{ name: string; row: string }[]>(query, [traces]);
  const rows = Map.groupBy(found, ({ name }) => name);
  return Object.fromEntries([...rows].map(([name, of]) => [name, of.map(({ row }) => row)]));
}
