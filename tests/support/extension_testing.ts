// The tests of an extension import this module, as a part of "@steward/steward/testing".
import assert from "node:assert/strict";
import { CATALOG_PERMISSIONS } from "../../domain/rights/catalog.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { assemble } from "../../routes/extensions/assemble.ts";
import type { Extension } from "../../routes/extensions/extension.ts";
import {
  askAsOutsider,
  hasRowForEachRoute,
  MARKER,
  namer,
  refersToNoneOfVictim,
  refusesWithoutToken,
  resourceRows,
  revealsNothing,
  type Rows,
  tracesOf,
  victimsRows,
  type World,
} from "./isolation.ts";
import { type Actor, setup, type TestService } from "./setup.ts";
import { until } from "./until.ts";

export { until };
export type { HttpAnswer, HttpClient } from "./http.ts";
export type { Ask, Row, Rows } from "./isolation.ts";
export type { Actor } from "./setup.ts";

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

type Ids = (kind: string) => string;
type Sample = (text: string, id: Ids) => Record<string, unknown>;

/** What the isolation check needs to know about an extension. */
export interface IsolationSpec {
  extension: Extension;
  /**
   * The body that creates an object of each resource, by the resource's `one`. Its free texts contain `text`. `id` gives
   * the id of the caller's object of a kind: of `objects`, or of a sample listed before.
   */
  samples?: Record<string, Sample>;
  /** How an outsider calls each route of the extension. The routes of resources get their rows from `samples`. */
  rows?: Rows;
  /** Parameters of each report that is not global, by its id. The victim's document must show a text of the victim. */
  reports?: Record<string, Record<string, unknown>>;
  /** The arguments with which an outsider enqueues each exposed job, by its name. `id` gives ids of the victim. */
  jobs?: Record<string, (id: Ids) => unknown>;
  /** Creates further objects of the caller; returns their ids by kind. Their free texts contain `text`. */
  objects?(caller: Actor, text: string): Promise<Record<string, string>>;
}

/**
 * Declares tests that use every route, resource, report and exposed job of an extension as an outsider, who holds all
 * permissions in another tenant. The answer must be the same as for ids that do not exist, documents and outputs must
 * show nothing of the victim, and no row of the victim may change or appear, neither in the tables of the extension nor
 * in those of the service.
 */
export function checkTenantIsolation(
  service: Pick<ExtensionTest, "actor" | "nobody" | "settled" | "sql">,
  spec: IsolationSpec,
): void {
  const { extension, samples = {}, reports = {}, jobs = {}, objects } = spec;
  const { name, resources = [], permissions = [] } = extension;
  const rows = { ...spec.rows };
  const parents = new Set(Object.values(samples).flatMap(parentsOf));
  for (const resource of resources) {
    const sample = samples[resource.one];
    if (!sample) throw new Error(`${name}: the resource ${resource.one} has no member in \`samples\``);
    const bodyOf = ({ own = {} }: World) => sample(OUTSIDERS, namer(own).id);
    Object.assign(rows, resourceRows(resource.one, resource, bodyOf));
  }
  /** Creates the caller's `objects`, then those of the samples of `kinds`; returns their ids by kind. */
  async function create(
    by: Actor,
    text: string,
    kinds: ReadonlySet<string>,
  ): Promise<Record<string, string>> {
    const ids = { ...await objects?.(by, text) };
    for (const [kind, sample] of Object.entries(samples)) {
      const resource = resources.find(({ one }) => one === kind);
      if (!resource) throw new Error(`${name}: \`samples\` names ${kind}, which is no resource`);
      if (!kinds.has(kind)) continue;
      const path = `/api/v1/${resource.path ?? resource.many}`;
      ids[kind] = await createdId(by, path, sample(text, namer(ids).id));
    }
    return ids;
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
    const ids = await create(victim, MARKER, new Set(Object.keys(samples)));
    world = {
      t: service,
      sql: service.sql,
      permissions: everything,
      victim,
      outsider,
      ids: { tenant: victim.tenantId ?? "", ...ids },
      own: parents.size > 0 ? await create(outsider, `${OUTSIDERS}Parent`, parents) : {},
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

  Deno.test(`${name}: an outsider gets and changes nothing of another tenant on any route`, async (context) => {
    const before = await victimsRows(world); // reading every table takes longer than all requests
    for (const endpoint of endpoints) {
      const row = rows[endpoint.id];
      if (!row) continue;
      await context.step(`${endpoint.method} ${endpoint.path}`, () => askAsOutsider(world, endpoint, row));
    }
    assert.deepEqual(await victimsRows(world), before, "nothing of the victim's was changed");
  });
  for (const [kind, sample] of Object.entries(samples)) {
    const route = endpoints.find(({ id }) => id === `create${kind.charAt(0).toUpperCase()}${kind.slice(1)}`);
    if (!route || parentsOf(sample).length === 0) continue;
    Deno.test(`${name}: an outsider's ${kind} cannot refer to objects of another tenant`, () =>
      refersToNoneOfVictim(world, route, (id) => sample(OUTSIDERS, id)));
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

/** In texts of the outsider's objects. */
const OUTSIDERS = "OutsidersText";

/** The kinds of objects that the sample names. */
function parentsOf(sample: Sample): string[] {
  const kinds: string[] = [];
  sample("", (kind) => {
    kinds.push(kind);
    return crypto.randomUUID();
  });
  return kinds;
}

async function createdId(victim: Actor, path: string, body: unknown): Promise<string> {
  const answer = await victim.post(path, body);
  if (answer.status === 201) return answer.body.id;
  throw new Error(`the sample was refused: POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
}

const CSV = 3;

/** Checks that the victim's document shows a text of the victim, and the outsider's with the same parameters none. */
async function reportKeepsFromOutsider(
  world: World,
  templateId: string,
  parameters: Record<string, unknown>,
): Promise<void> {
  const { victim, outsider } = world;
  const theirs = await generated(world, victim, templateId, parameters);
  const shown = tracesOf(world).some((trace) => theirs.includes(trace));
  assert.ok(shown, `the victim's document shows none of its rows; create them with objects: ${theirs}`);
  const own = await generated(world, outsider, templateId, parameters);
  const revealed = tracesOf(world).filter((trace) => own.includes(trace));
  assert.deepEqual(revealed, [], `the outsider's document reveals ${revealed}: ${own.slice(0, 2000)}`);
}

/** The document as CSV, after its last job has ended: later checks compare the rows of the caller's tenant. */
async function generated(
  { sql }: World,
  by: Actor,
  templateId: string,
  parameters: Record<string, unknown>,
): Promise<string> {
  const { status, body } = await by.post("/api/v1/reports/generate", { templateId, format: CSV, parameters });
  assert.equal(status, 201, JSON.stringify(body));
  const download = await until(
    () => by.get(`/api/v1/reports/${body.id}/download`),
    ({ status }) => status === 200,
  );
  await until(async () => {
    const running = await sql`
      select from jobs where job_type_name = 'steward.report-deliver' and completed_at is null
        and serialized_args like ${`%${body.id}%`}`;
    return running.length === 0;
  });
  return await (await fetch(download.body.url)).text();
}

/** Checks that a job which the outsider enqueues shows nothing of the victim and changes none of its rows. */
async function jobKeepsFromOutsider(
  world: World,
  settled: (jobId: string) => Promise<string>,
  jobTypeName: string,
  argsOf: (id: (kind: string) => string) => unknown,
): Promise<void> {
  const { outsider, ids } = world;
  const { id, used } = namer(ids);
  const serializedArgs = JSON.stringify(argsOf(id));
  const before = await victimsRows(world, used);
  const { status, body: job } = await outsider.post("/api/v1/jobs", {
    jobTypeName,
    serializedArgs,
    maxRetries: 0,
  });
  assert.equal(status, 201, JSON.stringify(job));
  await settled(job.id);
  for (const path of [`/api/v1/jobs/${job.id}`, `/api/v1/jobs/${job.id}/executions`]) {
    revealsNothing(world, await outsider.get(path), used);
  }
  assert.deepEqual(await victimsRows(world, used), before, "nothing of the victim's was changed");
}
