import assert from "node:assert/strict";
import { foldCounts } from "../../../domain/jobs/fold_counts.ts";
import { INSTANCES } from "../../support/in_one_instance.ts";
import { setup } from "../../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const url = "/api/v1/jobs";

interface Interval {
  start: string;
  succeeded: number;
  failed: number;
  abandoned: number;
}
const sum = (intervals: Interval[], of: "succeeded" | "failed" | "abandoned") =>
  intervals.reduce((total, interval) => total + interval[of], 0);

Deno.test("throughput counts ended jobs of the own tenant, before and after a fold", async () => {
  const [actor, other] = [await t.actor(), await t.actor()];
  for (const type of ["steward.echo", "steward.echo", "steward.fail"]) {
    const { body } = await actor.post(url, { jobTypeName: type, serializedArgs: "{}", maxRetries: 0 });
    await t.settled(body.id);
  }
  for (const fold of [false, true]) {
    if (fold) await foldCounts(sql, { always: true });
    for (const [window, count, seconds] of [["hour", 60, 60], ["day", 24, 3600]] as const) {
      const { status, body } = await actor.get(`${url}/throughput?window=${window}`);
      assert.equal(status, 200);
      assert.equal(body.intervals.length, count);
      assert.equal(body.intervalSeconds, seconds);
      const starts = body.intervals.map(({ start }: Interval) => Date.parse(start));
      assert.ok(
        starts.every((at: number, index: number) => index === 0 || at - starts[index - 1] === seconds * 1000),
      );
      assert.deepEqual(
        [sum(body.intervals, "succeeded"), sum(body.intervals, "failed")],
        [2, 1],
        `${window} ${fold}`,
      );
      assert.equal(
        sum((await other.get(`${url}/throughput?window=${window}`)).body.intervals, "succeeded"),
        0,
      );
    }
  }
  // Deleting executions does not change past counts.
  await sql`delete from job_executions where tenant_id = ${actor.tenantId}`;
  await foldCounts(sql, { always: true });
  const { body } = await actor.get(`${url}/throughput`);
  assert.equal(body.window, "hour");
  assert.equal(sum(body.intervals, "succeeded"), 2);
  assert.equal((await actor.get(`${url}/throughput?window=year`)).body.code, "VALIDATION_ERROR");
  const narrowed = await t.systemAdmin.get(`${url}/throughput?tenantId=${actor.tenantId}`);
  assert.equal(sum(narrowed.body.intervals, "failed"), 1);
  assert.equal((await t.nobody.get(`${url}/throughput`)).status, 401);
});

Deno.test("minutes and hours outside of every window are deleted", async () => {
  await sql`insert into job_throughput values
    (${crypto.randomUUID()}, 'minute', now() - interval '3 hours', 1, 0, 0),
    (${crypto.randomUUID()}, 'hour', now() - interval '9 days', 1, 0, 0)`;
  await foldCounts(sql, { always: true });
  const [row] = await sql`select count(*) as n from job_throughput where start < now() - interval '2 hours'
    and (grain = 'minute' or start < now() - interval '8 days')`;
  assert.equal(row?.n, 0);
});

Deno.test("counts by status follow the filters", async () => {
  const actor = await t.actor();
  const done = await actor.post(url, { jobTypeName: "steward.echo", queue: "a" });
  await actor.post(url, { jobTypeName: "steward.echo", queue: "b", scheduledAt: "2050-01-01T00:00:00Z" });
  await t.settled(done.body.id);
  const counts = async (query: string) => (await actor.get(`${url}/counts${query}`)).body.statuses;
  assert.deepEqual(await counts(""), [{ status: "Scheduled", count: 1 }, { status: "Succeeded", count: 1 }]);
  assert.deepEqual(await counts("?queue=b"), [{ status: "Scheduled", count: 1 }]);
  assert.deepEqual(await counts("?priority=High"), []);
  assert.deepEqual(await counts("?searchTerm=ECHO&type=Delayed"), [{ status: "Scheduled", count: 1 }]);
  assert.equal((await actor.get(`${url}/counts?priority=urgent`)).body.code, "VALIDATION_ERROR");
});

Deno.test("types are listed with the schema of their arguments", async () => {
  const { body } = await (await t.actor()).get(`${url}/types`);
  const names = body.map(({ name }: { name: string }) => name);
  assert.deepEqual(names, names.toSorted());
  assert.ok(names.includes("steward.echo") && !names.includes("steward.prune-jobs"));
  const sleep = body.find(({ name }: { name: string }) => name === "steward.sleep");
  assert.equal(sleep.argsSchema.properties.milliseconds.type, "integer");
  assert.deepEqual(sleep.argsSchema.required, ["milliseconds"]);
  const fail = body.find(({ name }: { name: string }) => name === "steward.fail");
  assert.equal(fail.argsSchema.required, undefined, "what has a default need not be sent");
});

Deno.test("only system administrators see the workers", async () => {
  const { body } = await t.systemAdmin.get(`${url}/workers`);
  assert.equal(body.length, INSTANCES);
  assert.ok(body[0].host && body[0].holds >= 0);
  assert.equal(
    (await (await t.actor({ role: "Admin" })).get(`${url}/workers`)).body.code,
    "MISSING_PERMISSION",
  );
});

Deno.test("a job's continuations are listed for callers who may read the job", async () => {
  const actor = await t.actor();
  const parent =
    (await actor.post(url, { jobTypeName: "steward.echo", scheduledAt: "2050-01-01T00:00:00Z" })).body;
  const child = (await actor.post(url, { jobTypeName: "steward.echo", parentJobId: parent.id })).body;
  const { body } = await actor.get(`${url}/${parent.id}/continuations`);
  assert.deepEqual(body.map(({ id }: { id: string }) => id), [child.id]);
  assert.deepEqual((await actor.get(`${url}/${child.id}/continuations`)).body, []);
  const foreign = await (await t.actor()).get(`${url}/${parent.id}/continuations`);
  assert.deepEqual([foreign.status, foreign.body.code], [404, "JOB_NOT_FOUND"]);
});

Deno.test("a recurring job shows its next runs, across a clock change, and its latest runs", async () => {
  const actor = await t.actor();
  const recurring = "/api/v1/recurring-jobs";
  await actor.post(recurring, {
    jobId: "nightly",
    jobTypeName: "steward.echo",
    cronExpression: "30 4 * * *",
    timeZoneId: "Europe/Lisbon",
  });
  await actor.post(`${recurring}/nightly/pause`);
  const { nextRuns } = (await actor.get(`${recurring}/nightly/next-runs?count=50`)).body;
  assert.equal(nextRuns.length, 50);
  const local = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Lisbon", timeStyle: "short" });
  assert.ok(nextRuns.every((at: string) => local.format(new Date(at)) === "04:30"));
  const first = (await actor.post(`${recurring}/nightly/trigger`)).body;
  const second = (await actor.post(`${recurring}/nightly/trigger`)).body;
  const runs = (await actor.get(`${recurring}/nightly/runs`)).body;
  assert.deepEqual(runs.map(({ id }: { id: string }) => id), [second.id, first.id]);
  assert.equal((await actor.get(`${recurring}/nightly/runs?limit=1`)).body.length, 1);
  assert.equal((await actor.get(`${recurring}/nightly/runs?limit=0`)).body.code, "VALIDATION_ERROR");
  const outsider = await t.actor();
  for (const part of ["runs", "next-runs"]) {
    assert.equal((await outsider.get(`${recurring}/nightly/${part}`)).body.code, "JOB_RECURRING_NOT_FOUND");
  }
});

Deno.test("dead letters can be filtered by group and read one by one", async () => {
  const actor = await t.actor();
  const list = "/api/v1/dead-letter-jobs";
  for (const message of ["order 1 lost", "order 2 lost", "disk full"]) {
    const { body } = await actor.post(url, {
      jobTypeName: "steward.fail",
      serializedArgs: JSON.stringify({ message }),
      maxRetries: 0,
    });
    await t.settled(body.id);
  }
  const group = await actor.get(
    `${list}?jobTypeName=steward.fail&errorPattern=${encodeURIComponent("order # lost")}`,
  );
  assert.equal(group.body.totalCount, 2);
  const [entry] = group.body.items;
  assert.deepEqual((await actor.get(`${list}/${entry.id}`)).body, entry);
  await actor.post(`${list}/${entry.id}/retry`);
  assert.equal((await actor.get(`${list}?isRetried=true`)).body.totalCount, 1);
  assert.equal(
    (await actor.get(`${list}?isRetried=false&jobTypeName=steward.fail`)).body.totalCount >= 2,
    true,
  );
  assert.equal((await actor.get(`${list}?jobTypeName=other`)).body.totalCount, 0);
  const foreign = await (await t.actor()).get(`${list}/${entry.id}`);
  assert.deepEqual([foreign.status, foreign.body.code], [404, "JOB_DEADLETTER_NOT_FOUND"]);
});
