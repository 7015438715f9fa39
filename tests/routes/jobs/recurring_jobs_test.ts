import assert from "node:assert/strict";
import { invalid } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import {
  assertHas,
  declareType,
  idsOf,
  jobOf,
  JOBS,
  RECURRING,
  refusal,
  WORKER_PERMISSIONS,
} from "./job_calls.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const actor = await t.actor();
const outsider = await t.actor();

const spec = (more: Record<string, unknown> = {}) => ({
  ...jobOf("steward.echo"),
  jobId: `nightly-${crypto.randomUUID()}`,
  cronExpression: "30 4 * * *",
  timeZoneId: "Europe/Lisbon",
  ...more,
});
/** Creates a recurring job. @returns its path */
async function create(more: Record<string, unknown> = {}): Promise<string> {
  return `${RECURRING}/${(await accepted(actor.post(RECURRING, spec(more)), 201)).jobId}`;
}
const read = async (path: string) => (await actor.get(path)).body;
const many = (path: string) => Promise.all([1, 2, 3, 4].map(() => actor.post(path)));

Deno.test("a recurring job has the id of the caller in its path, and a change of its schedule moves its next run", async () => {
  const { body, headers } = await actor.post(RECURRING, spec({ jobId: "Report:daily.v1_2-x" }));
  const path = headers.get("location") ?? "";
  assert.equal(path, `${RECURRING}/${encodeURIComponent("Report:daily.v1_2-x")}`);
  assert.deepEqual(await read(path), body);
  const schedule = { cronExpression: "0 5 * * 1", timeZoneId: "America/New_York" };
  const { body: changed } = await actor.put(path, schedule);
  assert.notEqual(changed.nextRunAt, body.nextRunAt);
  assertHas((await actor.put(path, { queue: null })).body, { ...schedule, queue: "default" });
  assert.equal(refusal(await actor.get(`${RECURRING}/not a valid id`)), "404 JOB_RECURRING_NOT_FOUND");
});

Deno.test("ids are unique in a tenant, also under simultaneous creation", async () => {
  const given = spec();
  const answers = await Promise.all([1, 2, 3, 4].map(() => actor.post(RECURRING, given)));
  const outcomes = answers.map((answer) => answer.status === 201 ? "created" : refusal(answer));
  assert.deepEqual(outcomes.sort(), [...Array(3).fill("409 JOB_RECURRING_ALREADY_EXISTS"), "created"]);
});

Deno.test("a system administrator names the tenant of an id that several tenants use, and changes only its job", async () => {
  const { systemAdmin: admin } = t;
  const path = await create();
  const jobId = path.slice(RECURRING.length + 1);
  assertHas((await admin.get(path)).body, { jobId, tenantId: actor.tenantId });
  assert.equal((await outsider.post(RECURRING, spec({ jobId }))).status, 201);
  const schedule = { cronExpression: "0 5 * * 1" };
  const changes = (at: string) => [
    () => admin.get(at),
    () => admin.get(at.replace(jobId, `${jobId}/runs`)),
    () => admin.get(at.replace(jobId, `${jobId}/next-runs`)),
    () => admin.put(at, schedule),
    ...["pause", "resume", "trigger"].map((verb) => () => admin.post(at.replace(jobId, `${jobId}/${verb}`))),
    () => admin.delete(at),
  ];
  for (const change of changes(path)) invalid(await change(), "tenantId");
  const before = await read(path);
  for (const change of changes(`${path}?tenantId=${outsider.tenantId}`)) await accepted(change());
  assert.equal(refusal(await outsider.get(path)), "404 JOB_RECURRING_NOT_FOUND");
  assert.deepEqual(await read(path), before);
  await accepted(actor.delete(`${path}?tenantId=${outsider.tenantId}`), 204); // its own
  await accepted(admin.post(RECURRING, spec({ jobId })), 201);
  assert.equal((await create({ jobId })).length, path.length);
  assertHas((await admin.get(path)).body, { tenantId: admin.tenantId });
});

Deno.test("an invalid schedule, type or argument is rejected by name", async () => {
  const path = await create();
  const cases = { cronExpression: "0 0 30 2 *", timeZoneId: "+01:00", serializedArgs: "{", jobId: ".." };
  for (const [field, value] of Object.entries(cases)) {
    const changes = field === "jobId" ? [] : [await actor.put(path, { [field]: value })];
    for (const refused of [await actor.post(RECURRING, spec({ [field]: value })), ...changes]) {
      invalid(refused, field);
    }
  }
  invalid(await actor.post(RECURRING, spec({ jobTypeName: "steward.sleep" })), "serializedArgs");
  const internal = await actor.post(RECURRING, spec({ jobTypeName: "steward.prune-jobs" }));
  assert.equal(refusal(internal), "400 JOB_TYPE_UNKNOWN");
});

Deno.test("arguments nested too deep are refused, also with a masked secret", async () => {
  const sender = await t.actor({ permissions: ["run:http-requests"] });
  const jobTypeName = "steward.http-request";
  const args = (authorization: string, levels: number) => ({
    jobTypeName,
    serializedArgs: `{"url":"https://example.com/","headers":{"authorization":"${authorization}"},
      "more":${"[".repeat(levels)}1${"]".repeat(levels)}}`,
  });
  const { jobId } = (await sender.post(RECURRING, spec(args("secret", 199)))).body;
  const change = (levels: number) =>
    sender.put(`${RECURRING}/${jobId}`, { serializedArgs: args("***", levels).serializedArgs });
  const deep = args("secret", 200);
  const created = [await sender.post(RECURRING, spec(deep)), await sender.post(JOBS, deep)];
  const errors = { serializedArgs: ["expected a document at most 200 levels deep"] };
  for (const { body } of [await change(200), ...created]) assert.deepEqual(body.errors, errors);
  assert.equal((await change(3)).status, 200);
});

Deno.test("pause and resume take effect once each, also when called at the same time", async () => {
  const path = await create();
  const outcomesOf = async (verb: string) =>
    (await many(`${path}/${verb}`)).map((answer) => answer.status === 200 ? "done" : refusal(answer)).sort();
  assert.deepEqual(await outcomesOf("pause"), [...Array(3).fill("400 JOB_RECURRING_ALREADY_PAUSED"), "done"]);
  assertHas(await read(path), { isPaused: true, nextRunAt: null });
  assert.equal((await actor.put(path, { cronExpression: "* * * * *" })).body.nextRunAt, null);
  assert.deepEqual(await outcomesOf("resume"), [...Array(3).fill("400 JOB_RECURRING_NOT_PAUSED"), "done"]);
  assert.ok((await read(path)).nextRunAt);
});

Deno.test("a recurring job with an abolished time zone shows that until it gets another", async () => {
  const path = await create();
  await sql`update recurring_jobs set time_zone_id = 'Europe/Atlantis', is_paused = true,
    next_run_at = null where job_id = ${path.slice(RECURRING.length + 1)}`;
  invalid(await actor.post(`${path}/resume`), "timeZoneId");
  invalid(await actor.get(`${path}/next-runs`), "timeZoneId");
  assert.equal((await actor.put(path, { timeZoneId: "UTC" })).status, 200);
  assert.equal((await actor.post(`${path}/resume`)).status, 200);
});

Deno.test("a tick that is due is not lost when anything but the schedule changes", async () => {
  const path = await create({ cronExpression: "0 0 1 1 *", queue: "mail" });
  await sql`update recurring_jobs set next_run_at = now() - interval '1 second'
    where job_id = ${path.slice(RECURRING.length + 1)}`;
  assert.equal((await actor.put(path, { queue: "default" })).status, 200);
  await t.steward.sweep(); // skips it while the check of due times, which the change starts, fires it
  await until(async () => (await read(`${path}/runs`)).length === 1);
});

Deno.test("trigger runs it at once with its arguments and queue, also while paused; the latest runs are shown", async () => {
  const given = { queue: "mail", serializedArgs: '{"n":1}', argsTypeName: "N" };
  const path = await create(given);
  await actor.post(`${path}/pause`);
  const { status, body } = await actor.post(`${path}/trigger`);
  assert.equal(status, 200);
  assertHas(body, { ...given, type: "Recurring", recurringJobId: path.slice(RECURRING.length + 1) });
  await t.settled(body.id);
  const after = await read(path);
  assertHas(after, { lastJobId: body.id, lastStatus: "Succeeded", isPaused: true });
  assert.ok(after.lastRunAt);
  const second = (await actor.post(`${path}/trigger`)).body;
  assert.deepEqual(idsOf(await read(`${path}/runs`)), [second.id, body.id]);
  assert.deepEqual(idsOf(await read(`${path}/runs?limit=1`)), [second.id]);

  const { nextRuns } = await read(`${path}/next-runs?count=50`);
  const local = new Intl.DateTimeFormat("en-GB", { timeZone: "Europe/Lisbon", timeStyle: "short" });
  assert.equal(nextRuns.length, 50);
  assert.ok(nextRuns.every((at: string) => local.format(new Date(at)) === "04:30"));
});

Deno.test("a system administrator sees the service's own recurring jobs", async () => {
  const { items } = (await t.systemAdmin.get(`${RECURRING}?pageSize=100`)).body;
  assert.ok(items.some((item: { jobId: string }) => item.jobId === "steward.prune-jobs"));
  const run = await t.systemAdmin.post(`${RECURRING}/steward.prune-jobs/trigger`);
  assert.equal(await t.settled(run.body.id), "Succeeded");
});

Deno.test("while the job type is deleted, arguments must be JSON and keep their secrets: it may be declared again", async () => {
  const owner = await t.actor({ permissions: WORKER_PERMISSIONS });
  const type = await declareType(owner, { secretArgs: ["$.password"] });
  const path = `${RECURRING}/deleted-type`;
  const given = { jobId: "deleted-type", jobTypeName: type, serializedArgs: '{"password":"secret"}' };
  await accepted(owner.post(RECURRING, spec(given)), 201);
  await accepted(owner.delete(`/api/v1/job-types/${type}`), 204);
  invalid(await owner.put(path, { serializedArgs: "no JSON" }), "serializedArgs");
  const shown = '{"password":"***","n":1}';
  assert.equal((await owner.put(path, { serializedArgs: shown })).status, 200);
  await declareType(owner, {}, type);
  assert.equal((await owner.get(RECURRING)).body.items[0].serializedArgs, shown);
  await owner.post(`${path}/trigger`);
  const { jobs: [job] } = (await owner.post("/api/v1/work/claim", { types: [type], worker: "one" })).body;
  assert.deepEqual(job.args, { password: "secret", n: 1 }, "*** keeps the secret");
});
