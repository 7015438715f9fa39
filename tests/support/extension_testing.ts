// "@steward/steward/testing": what the tests of an extension import.
import assert from "node:assert/strict";
import { CATALOG_PERMISSIONS } from "../../domain/rights/catalog.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { assemble } from "../../routes/extensions/assemble.ts";
import type { Extension } from "../../routes/extensions/extension.ts";
import {
  hasRowForEachRoute,
  keepsFromOutsider,
  MARKER,
  refusesWithoutToken,
  resourceRows,
  type Rows,
  type World,
} from "./isolation.ts";
import { jobKeepsFromOutsider, reportKeepsFromOutsider } from "./isolation_of_work.ts";
import { type Actor, setup, type TestService } from "./setup.ts";

export { until } from "./until.ts";
export type { HttpAnswer, HttpClient } from "./http.ts";
export type { Ask, Row, Rows } from "./isolation.ts";
export type { Actor, ActorOptions } from "./setup.ts";

/** A running service with extensions and a database of its own, and callers for requests to it. */
export interface ExtensionTest
  extends
    Pick<TestService, "url" | "logs" | "nobody" | "systemAdmin" | "tenant" | "actor" | "settled" | "stop"> {
  sql: Sql;
  /** Has the catalog role Admin. */
  tenantAdmin: Actor;
  /** Has the catalog role Visitor in the tenant of `tenantAdmin`. */
  visitor: Actor;
  /** Has the catalog role Admin in another tenant. */
  outsider: Actor;
}

/**
 * Starts a service for one test file, with an embedded Postgres; call `stop` in `Deno.test.afterAll`.
 * @param o.extensions modules, as paths or `file:` URLs
 * @param o.env configuration that overrides the test defaults
 */
export async function startForTest(
  o: { extensions: string[]; env?: Record<string, string> },
): Promise<ExtensionTest> {
  const t = await setup({ STEWARD_EXTENSIONS: o.extensions.join(","), ...o.env });
  const tenantAdmin = await t.actor({ role: "Admin" });
  return {
    ...t,
    sql: t.steward.platform.sql,
    tenantAdmin,
    visitor: await t.actor({ role: "Visitor", tenantId: tenantAdmin.tenantId ?? "" }),
    outsider: await t.actor({ role: "Admin" }),
  };
}

/** What the isolation check needs to know about an extension. */
export interface IsolationSpec {
  extension: Extension;
  /** The body that creates an object of each resource, by the resource's `one`. Its free texts contain `text`. */
  samples?: Record<string, (text: string) => Record<string, unknown>>;
  /** How an outsider calls each route of the extension. The routes of resources get their rows from `samples`. */
  rows?: Rows;
  /** Parameters of each report that is not global, by its id. The victim's document must show a text of the victim. */
  reports?: Record<string, Record<string, unknown>>;
  /** The arguments with which an outsider enqueues each exposed job, by its name. `id` gives ids of the victim. */
  jobs?: Record<string, (id: (kind: string) => string) => unknown>;
  /** Creates further objects of the victim; returns their ids by kind. Their free texts contain `text`. */
  objects?(victim: Actor, text: string): Promise<Record<string, string>>;
}

/**
 * Declares tests that use every route, resource, report and exposed job of an extension as an outsider, who holds all
 * permissions in another tenant. The answer must be the same as for ids that do not exist, documents and outputs must
 * show nothing of the victim, and no row of the victim may change or appear, neither in the tables of the extension nor
 * in those of the service.
 */
export function checkTenantIsolation(service: ExtensionTest, spec: IsolationSpec): void {
  const { extension, samples = {}, reports = {}, jobs = {}, objects } = spec;
  const { name, resources = [], permissions = [] } = extension;
  const rows = { ...spec.rows };
  for (const resource of resources) {
    const sample = samples[resource.one];
    if (sample) Object.assign(rows, resourceRows(resource.one, resource, sample("OutsidersText")));
  }
  const { endpoints } = assemble([{ ...extension, module: name }], () => {
    throw new Error("these endpoints only describe the routes; the service runs its own");
  });
  let world: World;

  Deno.test.beforeAll(async () => {
    const everything = [
      ...CATALOG_PERMISSIONS.filter(({ reach }) => reach === "Tenant"),
      ...permissions,
    ].map(({ code }) => code);
    const victim = await service.actor({ permissions: everything });
    const outsider = await service.actor({ permissions: everything });
    const ids: Record<string, string> = {};
    for (const { one, many, path = many } of resources) {
      const sample = samples[one];
      if (sample) ids[one] = await createdId(victim, `/api/v1/${path}`, sample(MARKER));
    }
    Object.assign(ids, await objects?.(victim, MARKER));
    world = {
      t: service,
      sql: service.sql,
      permissions: everything,
      victim,
      outsider,
      ids: { tenant: victim.tenantId ?? "", ...ids },
      absent: Object.fromEntries(["tenant", ...Object.keys(ids)].map((kind) => [kind, crypto.randomUUID()])),
      texts: [MARKER, victim.email],
      schemas: ["public", name],
    };
  });

  Deno.test(`${name}: every route and resource has a row in the isolation check`, () =>
    hasRowForEachRoute(endpoints, rows));

  Deno.test(`${name}: every report and exposed job is in the isolation check`, () => {
    const ofTenants = extension.reports?.filter(({ isGlobal }) => !isGlobal).map(({ id }) => id) ?? [];
    const exposed = extension.jobs?.filter(({ exposed }) => exposed).map(({ name }) => name) ?? [];
    assert.deepEqual(Object.keys(reports).sort(), ofTenants.sort(), "the members of `reports`");
    assert.deepEqual(Object.keys(jobs).sort(), exposed.sort(), "the members of `jobs`");
  });

  Deno.test(`${name}: every route that needs a caller answers TOKEN_MISSING without a token`, () =>
    refusesWithoutToken(service.nobody, endpoints));

  for (const endpoint of endpoints) {
    const row = rows[endpoint.id];
    if (!row) continue;
    Deno.test(`${name}: an outsider gets nothing of another tenant from ${endpoint.method} ${endpoint.path}`, () =>
      keepsFromOutsider(world, endpoint, row));
  }
  for (const [id, parameters] of Object.entries(reports)) {
    Deno.test(`${name}: an outsider gets nothing of another tenant from the report ${id}`, () =>
      reportKeepsFromOutsider(world, id, parameters));
  }
  for (const [job, argsOf] of Object.entries(jobs)) {
    Deno.test(`${name}: an outsider gets and changes nothing of another tenant by the job ${job}`, () =>
      jobKeepsFromOutsider(world, service.settled, job, argsOf));
  }
}

async function createdId(victim: Actor, path: string, body: unknown): Promise<string> {
  const answer = await victim.post(path, body);
  if (answer.status === 201) return answer.body.id;
  throw new Error(`the sample was refused: POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}
