import assert from "node:assert/strict";
import { FILE_STATUSES } from "../../../domain/files/file.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type Scanner, ScanUnavailable } from "../../../infra/scanner/scanner.ts";
import { has } from "../../support/answers.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { INSTANCES } from "../../support/in_one_instance.ts";
import { outcome, refused } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { ALL, Uploading } from "./uploading.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" }, { inThisProcess: true });
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const tenantId = actor.tenantId ?? "";
const anId = crypto.randomUUID();

const NOT_AVAILABLE = "409 FILE_NOT_AVAILABLE_CONFLICT";
const INFECTED = "409 FILE_INFECTED_CONFLICT";
const PURGED = "409 FILE_PURGED_CONFLICT";
const INVALID = ["400 VALIDATION_ERROR"];
const WAITING = [NOT_AVAILABLE, NOT_AVAILABLE];
const byState = (available: string) => [...WAITING, available, INFECTED, NOT_AVAILABLE, PURGED];
const PAIR = { scope: "a", ownerId: "b" };
type Call = (who: Actor, path: string) => Promise<HttpAnswer>;
/** The answers per state, in the order of FILE_STATUSES; a single entry holds for all states. */
const ROUTES: Record<string, [call: Call, expected: string[]]> = {
  "complete": [
    (who, path) => who.post(`${path}/complete`),
    ["409 FILE_NOT_UPLOADED_CONFLICT", "200", "200", INFECTED, NOT_AVAILABLE, PURGED],
  ],
  "get": [(who, path) => who.get(path), ["200"]],
  "download-url": [(who, path) => who.get(`${path}/download-url`), byState("200")],
  "scan-attempts": [(who, path) => who.get(`${path}/scan-attempts`), ["200"]],
  "references": [(who, path) => who.get(`${path}/references`), ["200"]],
  "reference": [(who, path) => who.post(`${path}/references`, PAIR), byState("201")],
  "reference with a bad body": [(who, path) => who.post(`${path}/references`, { scope: 7 }), INVALID],
  "release": [(who, path) => who.delete(`${path}/references/${anId}`), ["404 FILE_NOT_FOUND"]],
  "release of no UUID": [(who, path) => who.delete(`${path}/references/nonsense`), INVALID],
  "retention": [
    (who, path) => who.put(`${path}/retention`, { legalHold: true }),
    [...Array(5).fill("200"), PURGED],
  ],
  "retention, incoherent": [
    (who, path) => who.put(`${path}/retention`, { retentionClass: "Temporary" }),
    ["400"],
  ],
  "purge": [(who, path) => who.post(`${path}/purge`, { reason: "gone" }), byState("200")],
  "purge with a job's reason": [(who, path) => who.post(`${path}/purge`, { reason: "job:x" }), INVALID],
};
const ask = (name: string, who: Actor, id: string) => ROUTES[name]![0](who, `/api/v1/files/${id}`);

Deno.test("the answer depends on the file's state", async () => {
  const changing = ["complete", "reference", "retention", "purge"];
  const unchanged = await Promise.all(FILE_STATUSES.map((state) => files.fileIn(state, { tenantId })));
  for (const [name, [, expected]] of Object.entries(ROUTES)) {
    for (const [i, state] of FILE_STATUSES.entries()) {
      const id = changing.includes(name) ? await files.fileIn(state, { tenantId }) : unchanged[i] ?? "";
      const answer = await ask(name, actor, id);
      const told = `${name}, ${state}: ${JSON.stringify(answer.body)}`;
      assert.equal(await outcome(answer), expected[i] ?? expected[0], told);
    }
  }
});

const visible = ({ status, headers, body }: HttpAnswer) => {
  const { instance: _, traceId: __, ...rest } = body;
  const kept = [...headers].filter(([name]) => !["date", "traceresponse", "content-length"].includes(name));
  return JSON.stringify({ status, kept, rest });
};

/** All requests to the database and the object store while `work` runs, in order, without the upkeep of counters. */
async function workOf(work: () => Promise<unknown>): Promise<string[]> {
  const done: string[] = [];
  const { sql, pointReads, objects } = t.platform;
  const watched = (pool: Sql): Sql =>
    new Proxy(pool, {
      apply(target, self, args) {
        const text: string = Array.isArray(args[0]?.raw) ? args[0].join("?") : "";
        if (text && !text.includes("_count_deltas")) done.push(text);
        return Reflect.apply(target as (...args: unknown[]) => unknown, self, args);
      },
      get(target, name, receiver) {
        if (name === "begin") done.push("begin");
        return Reflect.get(target, name, receiver);
      },
    });
  const store = new Proxy(objects, {
    get(target, name, receiver) {
      done.push(`store: ${String(name)}`);
      return Reflect.get(target, name, receiver);
    },
  });
  const parts = { sql: watched(sql), pointReads: watched(pointReads), objects: store };
  const putBack = t.replace((p) => p, parts);
  await work().finally(putBack);
  return done;
}

// Measuring time would find only large differences and not always; so the test compares the work itself.
Deno.test("another tenant's file is answered like a missing one, by the same work, on every route and in any state", async () => {
  const other = await t.tenant();
  const states = ["Available", "Purged"] as const;
  const ids = await Promise.all(
    states.map((state) => files.fileIn(state, { tenantId: other, legalHold: true })),
  );
  const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId: t.platformTenantId });
  for (const name of Object.keys(ROUTES)) {
    let unknown = await ask(name, actor, anId);
    await refused("404 FILE_NOT_FOUND", unknown, ask(name, admin, ids[0] ?? ""));
    for (let n = 1; n < INSTANCES; n++) await ask(name, actor, anId); // every instance knows the caller's permissions now
    const work = await workOf(async () => unknown = await ask(name, actor, crypto.randomUUID()));
    assert.ok(work.length >= 1, "the look-up is seen");
    for (const id of ids) {
      let answer = unknown;
      assert.deepEqual(await workOf(async () => answer = await ask(name, actor, id)), work, name);
      assert.equal(visible(answer), visible(unknown), name);
    }
  }
  const rows = await t.sql`select version from files where id = any(${ids}::uuid[])`;
  assert.deepEqual(rows.map(({ version }) => version), [1, 1]);
});

Deno.test("the scanner's status has engine, signature date and queue length", async () => {
  const { sql } = t.platform;
  const status = () => actor.get("/api/v1/files/scanner-status");
  const id = await files.fileIn("Scanning", { tenantId });
  await sql`update files set completed_at = now() - interval '90 days' where id = ${id}`;
  const { body } = await status();
  assert.match(body.engine, /^YARA-X /);
  assert.ok(body.queueDepth >= 1);
  assert.equal(Math.floor(body.queueOldestItemAgeSeconds / 86_400), 90);
  assert.equal(body.databaseStale, body.databaseAgeHours === null || body.databaseAgeHours > 48);
  await sql`update files set status = 'Failed', scan_due_at = null where id = ${id}`;

  const answering = (status: Scanner["status"]) => t.replace((p) => p.scanner, { status });
  const putBack = answering(() =>
    Promise.resolve({ engine: "X 1", databaseVersion: null, databaseDate: null })
  );
  has((await status().finally(putBack)).body, { databaseAgeHours: null, databaseStale: true });
  const back = answering(() => Promise.reject(new ScanUnavailable("away")));
  await refused("503 FILE_SCAN_UNAVAILABLE", status().finally(back));
});
