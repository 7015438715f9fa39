import assert from "node:assert/strict";
import type { Actor } from "../../support/setup.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const url = "/api/v1/dead-letter-jobs";

/** Adds dead letters with these error messages to the actor's tenant. */
async function failWith(actor: Actor, errors: string[], jobTypeName = "steward.fail"): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    insert into dead_letter_jobs (id, job_id, tenant_id, job_type_name, queue, serialized_args, attempts, error_message)
    select gen_random_uuid(), gen_random_uuid(), ${actor.tenantId}, ${jobTypeName}, 'default', '{}', 1, error
    from unnest(${errors}::text[]) error returning id`;
  return rows.map(({ id }) => id);
}
const purge = (actor: Actor, body: unknown) => actor.post(`${url}/purge`, body);
const left = async (actor: Actor) => (await actor.get(url)).body.totalCount;

Deno.test("a group is purged with the count that the groups show", async () => {
  const actor = await t.actor();
  await failWith(actor, ["order 1: answered 409", "order 2: answered 409", "order 3: answered 500"]);
  const [retried = ""] = await failWith(actor, ["order 4: answered 409"]);
  await sql`update dead_letter_jobs set retried_at = now(), retried_job_id = gen_random_uuid() where id = ${retried}`;
  const [{ jobTypeName, errorPattern, count: expectedCount }] = (await actor.get(`${url}/groups`)).body.items;
  assert.deepEqual([errorPattern, expectedCount], ["order #: answered 409", 2]);
  const group = { jobTypeName, errorPattern };
  const dry = await purge(actor, { ...group, dryRun: true });
  assert.deepEqual([dry.status, dry.body], [200, { purged: 0, matched: 2 }]);
  assert.equal(await left(actor), 4);
  const done = await purge(actor, { ...group, expectedCount });
  assert.deepEqual([done.status, done.body], [200, { purged: 2 }]);
  assert.equal(await left(actor), 2, "the retried one and the other group stay");
  const [audit] = await sql`
    select after from audit_log where action = 'deadLetter.purge' and tenant_id = ${actor.tenantId}`;
  assert.deepEqual([audit?.after.purged, audit?.after.errorPattern], [2, errorPattern]);
});

Deno.test("a purge with another count than expected is refused and deletes nothing", async () => {
  const actor = await t.actor();
  await failWith(actor, ["a", "a", "a"]);
  for (
    const body of [{ errorPattern: "a" }, { all: true }, { retentionDays: null }, {
      jobTypeName: "steward.fail",
    }]
  ) {
    for (const expectedCount of [0, 2, 4]) {
      for (const dryRun of [false, true]) {
        const refused = await purge(actor, { ...body, expectedCount, dryRun });
        assert.deepEqual([refused.status, refused.body.code], [409, "JOB_DEADLETTER_COUNT_CONFLICT"]);
        assert.match(refused.body.detail, /matches 3 dead letters; expected /);
      }
    }
  }
  assert.equal(await left(actor), 3);
  assert.equal((await purge(actor, { errorPattern: "a", expectedCount: 3 })).body.purged, 3);
});

Deno.test("of two purges of a group with the same count, one deletes and the other is refused", async () => {
  const actor = await t.actor();
  await failWith(actor, Array(50).fill("b"));
  const answers = await Promise.all(
    [1, 2, 3].map(() => purge(actor, { errorPattern: "b", expectedCount: 50 })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409]);
});

Deno.test("an empty filter purges nothing without all: true", async () => {
  const actor = await t.actor();
  await failWith(actor, ["x", "y"]);
  const bodies = [
    ...[{ jobTypeName: null }, { errorPattern: null, errorContains: null }, {
      failedFrom: null,
      failedTo: null,
    }],
    ...[{ expectedCount: 2 }, { dryRun: true }, { dryRun: false }, { all: false }, {
      all: false,
      retentionDays: undefined,
    }],
    ...[{ retentionDays: null, jobTypeName: null }, { retentionDays: null, errorPattern: null }],
    ...[{ colour: "blue" }, { type: "steward.fail" }, { retentionDays: null, type: "steward.fail" }], // no filters of a purge
  ];
  for (const body of bodies) {
    const refused = await purge(actor, body);
    assert.deepEqual([refused.status, refused.body.code], [400, "VALIDATION_ERROR"], JSON.stringify(body));
    assert.match(refused.body.errors.all[0], /all: true/);
  }
  for (const body of [{ expectedCount: -1 }, { expectedCount: "2" }, { errorContains: "" }, { all: "yes" }]) {
    assert.equal((await purge(actor, body)).status, 400);
  }
  assert.equal(await left(actor), 2);
  assert.equal((await purge(actor, { all: true, dryRun: true })).body.matched, 2);
  assert.equal((await purge(actor, { retentionDays: null, dryRun: true })).body.matched, 2);
  assert.equal((await purge(actor, { all: true, expectedCount: 2 })).body.purged, 2);
});

Deno.test("a purge combines filters and age, within the caller's tenant", async () => {
  const [actor, other] = [await t.actor(), await t.actor()];
  await failWith(other, ["disk full"]);
  const [old = ""] = await failWith(actor, ["disk full", "disk full", "no route"]);
  await failWith(actor, ["disk full"], "steward.echo");
  await sql`update dead_letter_jobs set failed_at = now() - interval '10 days' where id = ${old}`;
  assert.equal((await purge(actor, { errorContains: "DISK", retentionDays: 9 })).body.purged, 1);
  assert.equal((await purge(actor, { errorContains: "disk", jobTypeName: "steward.echo" })).body.purged, 1);
  assert.equal((await purge(actor, { failedTo: "2020-01-01" })).body.purged, 0);
  assert.equal((await purge(actor, { failedFrom: "2020-01-01" })).body.purged, 2);
  assert.equal(await left(other), 1);
});

Deno.test("a bulk retry without a filter needs all: true", async () => {
  const actor = await t.actor();
  for (const body of [undefined, {}, { dryRun: true }, { jobTypeName: null }, { all: false }]) {
    const refused = await actor.post(`${url}/retry`, body);
    assert.deepEqual([refused.status, refused.body.code], [400, "VALIDATION_ERROR"]);
    assert.match(refused.body.errors.all[0], /all: true/);
  }
  assert.equal((await actor.post(`${url}/retry`, { all: true })).body.matched, 0);
});
