import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const actor = await t.actor();
const outsider = await t.actor();
const url = "/api/v1/recurring-jobs";
const spec = (extra: Record<string, unknown> = {}) => ({
  jobId: `nightly-${crypto.randomUUID()}`,
  jobTypeName: "steward.echo",
  cronExpression: "30 2 * * *",
  timeZoneId: "Europe/Lisbon",
  queue: "default",
  ...extra,
});
const create = async (extra: Record<string, unknown> = {}) => (await actor.post(url, spec(extra))).body;

Deno.test("a recurring job is created, read, listed, changed and deleted", async () => {
  const { status, body, headers } = await actor.post(url, spec({ jobId: "Report:daily.v1_2-x" }));
  assert.equal(status, 201);
  assert.equal(headers.get("location"), `${url}/${encodeURIComponent("Report:daily.v1_2-x")}`);
  assert.equal(body.isPaused, false);
  assert.ok(Date.parse(body.nextRunAt) > Date.now());
  assert.deepEqual([body.lastRunAt, body.lastJobId, body.lastStatus, body.serializedArgs], [
    null,
    null,
    null,
    "{}",
  ]);
  const path = headers.get("location") ?? "";
  const read = await actor.get(path);
  assert.deepEqual(read.body, body);
  assert.equal(read.headers.get("etag"), '"1"');
  assert.ok((await actor.get(url)).body.items.some((item: { jobId: string }) => item.jobId === body.jobId));
  const changed = await actor.put(path, {
    cronExpression: "0 5 * * 1",
    timeZoneId: "America/New_York",
    queue: "mail",
  });
  assert.equal(changed.status, 200);
  assert.equal(changed.headers.get("etag"), '"2"');
  assert.deepEqual([changed.body.cronExpression, changed.body.queue], ["0 5 * * 1", "mail"]);
  assert.notEqual(changed.body.nextRunAt, body.nextRunAt);
  const part = (await actor.put(path, { queue: "default" })).body;
  assert.deepEqual([part.cronExpression, part.queue], ["0 5 * * 1", "default"]);
  const stale = await actor.put(path, { queue: "x" }, { "if-match": '"1"' });
  assert.deepEqual([stale.status, stale.body.code], [412, "PRECONDITION_FAILED"]);
  assert.equal((await actor.delete(path, { "if-match": '"1"' })).status, 412);
  assert.equal((await actor.delete(path, { "if-match": '"3"' })).status, 204);
  for (const answer of [await actor.get(path), await actor.put(path, {}), await actor.delete(path)]) {
    assert.deepEqual([answer.status, answer.body.code], [404, "JOB_RECURRING_NOT_FOUND"]);
  }
});

Deno.test("ids are unique in a tenant, also under simultaneous creation, and can be reused in another tenant", async () => {
  const given = spec();
  const answers = await Promise.all(Array.from({ length: 8 }, () => actor.post(url, given)));
  assert.equal(answers.filter((answer) => answer.status === 201).length, 1);
  for (const refused of answers.filter((answer) => answer.status !== 201)) {
    assert.deepEqual([refused.status, refused.body.code], [409, "JOB_RECURRING_ALREADY_EXISTS"]);
  }
  assert.equal((await outsider.post(url, given)).status, 201);
  assert.equal((await t.systemAdmin.get(`${url}/${given.jobId}`)).status, 200);
});

Deno.test("an invalid schedule, id, queue, type or argument is rejected by name", async () => {
  const cases: [Record<string, unknown>, string, string?][] = [
    [{ cronExpression: "0 0 0 * * *" }, "VALIDATION_ERROR", "cronExpression"],
    [{ cronExpression: "@daily" }, "VALIDATION_ERROR", "cronExpression"],
    [{ cronExpression: "61 * * * *" }, "VALIDATION_ERROR", "cronExpression"],
    [{ cronExpression: "0 0 30 2 *" }, "VALIDATION_ERROR", "cronExpression"],
    [{ cronExpression: "" }, "VALIDATION_ERROR", "cronExpression"],
    [{ cronExpression: 5 }, "VALIDATION_ERROR", "cronExpression"],
    [{ timeZoneId: "Europe/Atlantis" }, "VALIDATION_ERROR", "timeZoneId"],
    [{ timeZoneId: "+01:00" }, "VALIDATION_ERROR", "timeZoneId"],
    [{ jobId: "has space" }, "VALIDATION_ERROR", "jobId"],
    [{ jobId: "" }, "VALIDATION_ERROR", "jobId"],
    [{ jobId: "." }, "VALIDATION_ERROR", "jobId"],
    [{ jobId: ".." }, "VALIDATION_ERROR", "jobId"],
    [{ jobId: "x".repeat(101) }, "VALIDATION_ERROR", "jobId"],
    [{ queue: "UPPER" }, "VALIDATION_ERROR", "queue"],
    [{ serializedArgs: "{" }, "VALIDATION_ERROR", "serializedArgs"],
    [{ jobTypeName: "steward.sleep", serializedArgs: "{}" }, "VALIDATION_ERROR", "serializedArgs"],
    [{ jobTypeName: "steward.prune-jobs" }, "JOB_TYPE_UNKNOWN"],
  ];
  for (const [extra, code, field] of cases) {
    const { status, body } = await actor.post(url, spec(extra));
    assert.deepEqual([status, body.code], [400, code], JSON.stringify(extra));
    if (field) assert.ok(body.errors[field], JSON.stringify(body.errors));
  }
  const { jobId } = await create();
  for (
    const change of [{ cronExpression: "x" }, { timeZoneId: "Nope" }, { queue: "!" }, { serializedArgs: "{" }]
  ) {
    assert.equal((await actor.put(`${url}/${jobId}`, change)).body.code, "VALIDATION_ERROR");
  }
});

Deno.test("arguments nested too deep are refused, also with a masked secret and a long number", async () => {
  const sender = await t.actor({ permissions: ["run:http-requests"] });
  const jobTypeName = "steward.http-request";
  const args = (authorization: string, more = "") =>
    `{"url":"https://example.com/","headers":{"authorization":"${authorization}"}${more}}`;
  const deep = (levels: number) => `,"more":${"[".repeat(levels)}12345678901234567890${"]".repeat(levels)}`;
  const { jobId } = (await sender.post(url, spec({ jobTypeName, serializedArgs: args("secret", deep(199)) })))
    .body;
  for (const levels of [200, 5_000, 30_000]) {
    const serializedArgs = args("***", deep(levels));
    const answers = [
      await sender.put(`${url}/${jobId}`, { serializedArgs }),
      await sender.post(url, spec({ jobTypeName, serializedArgs: args("secret", deep(levels)) })),
      await sender.post("/api/v1/jobs", { jobTypeName, serializedArgs: args("secret", deep(levels)) }),
    ];
    for (const { status, body } of answers) {
      assert.deepEqual([status, body.errors?.serializedArgs], [400, [
        "expected a document at most 200 levels deep",
      ]]);
    }
  }
  const kept = await sender.put(`${url}/${jobId}`, { serializedArgs: args("***", deep(3)) });
  assert.equal(kept.status, 200, JSON.stringify(kept.body));
});

Deno.test("an impossible id is not found", async () => {
  for (const id of ["no such", "%25", "x".repeat(300), "é"]) {
    const { status, body } = await actor.get(`${url}/${encodeURIComponent(id)}`);
    assert.deepEqual([status, body.code], [404, "JOB_RECURRING_NOT_FOUND"], id);
  }
});

Deno.test("pause and resume take effect once each, also when called at the same time", async () => {
  const { jobId } = await create();
  const pauses = await Promise.all([1, 2, 3].map(() => actor.post(`${url}/${jobId}/pause`)));
  assert.equal(pauses.filter((answer) => answer.status === 200).length, 1);
  assert.equal(pauses.filter((answer) => answer.body.code === "JOB_RECURRING_ALREADY_PAUSED").length, 2);
  const paused = (await actor.get(`${url}/${jobId}`)).body;
  assert.deepEqual([paused.isPaused, paused.nextRunAt], [true, null]);
  const changed = (await actor.put(`${url}/${jobId}`, { cronExpression: "* * * * *" })).body;
  assert.equal(changed.nextRunAt, null);
  const resumes = await Promise.all([1, 2, 3].map(() => actor.post(`${url}/${jobId}/resume`)));
  assert.equal(resumes.filter((answer) => answer.status === 200).length, 1);
  assert.equal(resumes.filter((answer) => answer.body.code === "JOB_RECURRING_NOT_PAUSED").length, 2);
  assert.ok((await actor.get(`${url}/${jobId}`)).body.nextRunAt);
});

Deno.test("a recurring job with an abolished time zone shows that until it gets another", async () => {
  const { jobId } = await create();
  await t.steward.platform.sql`update recurring_jobs set time_zone_id = 'Europe/Atlantis', is_paused = true,
    next_run_at = null where job_id = ${jobId}`;
  for (
    const answer of [await actor.post(`${url}/${jobId}/resume`), await actor.get(`${url}/${jobId}/next-runs`)]
  ) {
    assert.deepEqual([answer.status, answer.body.code], [400, "VALIDATION_ERROR"]);
    assert.ok(answer.body.errors.timeZoneId);
  }
  assert.equal((await actor.put(`${url}/${jobId}`, { timeZoneId: "UTC" })).status, 200);
  assert.equal((await actor.post(`${url}/${jobId}/resume`)).status, 200);
});

Deno.test("a tick that is due is not lost when anything but the schedule changes", async () => {
  const { sql } = t.steward.platform;
  const { jobId } = await create({ cronExpression: "0 0 1 1 *", queue: "mail" });
  await sql`update recurring_jobs set next_run_at = now() - interval '1 second' where job_id = ${jobId}`;
  assert.equal((await actor.put(`${url}/${jobId}`, { queue: "default" })).status, 200);
  await t.steward.sweep();
  assert.equal((await actor.get(`${url}/${jobId}/runs`)).body.length, 1);
});

Deno.test("trigger runs it at once with its arguments and queue, also while paused", async () => {
  const { jobId } = await create({ queue: "mail", serializedArgs: '{"n":1}', argsTypeName: "N" });
  await actor.post(`${url}/${jobId}/pause`);
  const { status, body } = await actor.post(`${url}/${jobId}/trigger`);
  assert.equal(status, 200);
  assert.deepEqual(
    [body.type, body.recurringJobId, body.queue, body.serializedArgs, body.argsTypeName],
    ["Recurring", jobId, "mail", '{"n":1}', "N"],
  );
  await t.settled(body.id);
  const after = (await actor.get(`${url}/${jobId}`)).body;
  assert.deepEqual([after.lastJobId, after.lastStatus, after.isPaused], [body.id, "Succeeded", true]);
  assert.ok(after.lastRunAt);
});

Deno.test("another tenant's recurring job is not found", async () => {
  const { jobId } = await create();
  const path = `${url}/${jobId}`;
  const answers = [
    await outsider.get(path),
    await outsider.put(path, { queue: "x" }),
    await outsider.delete(path),
    await outsider.post(`${path}/pause`),
    await outsider.post(`${path}/resume`),
    await outsider.post(`${path}/trigger`),
  ];
  for (const { status, body } of answers) {
    assert.deepEqual([status, body.code], [404, "JOB_RECURRING_NOT_FOUND"]);
  }
  assert.equal((await actor.get(path)).body.isPaused, false);
});

Deno.test("a system administrator sees the service's own recurring jobs", async () => {
  const { items } = (await t.systemAdmin.get(`${url}?pageSize=100`)).body;
  assert.ok(items.some((item: { jobId: string }) => item.jobId === "steward.prune-jobs"));
  assert.equal((await actor.get(`${url}/steward.prune-jobs`)).status, 404);
  const run = await t.systemAdmin.post(`${url}/steward.prune-jobs/trigger`);
  assert.equal(await t.settled(run.body.id), "Succeeded");
});

Deno.test("changes and runs of recurring jobs are audited", async () => {
  const { jobId } = await create();
  await actor.put(`${url}/${jobId}`, { queue: "mail" });
  for (const verb of ["pause", "resume", "trigger"]) await actor.post(`${url}/${jobId}/${verb}`);
  await actor.delete(`${url}/${jobId}`);
  const rows = await t.steward.platform
    .sql`select action, actor_id from audit_log where target_id = ${jobId} order by id`;
  assert.deepEqual(
    rows.map((row) => row.action),
    ["create", "update", "pause", "resume", "trigger", "delete"].map((verb) => `recurringJob.${verb}`),
  );
  assert.ok(rows.every((row) => row.actorId === actor.userId));
});

Deno.test("while the job type is deleted, arguments must be JSON and keep their secrets: it may be declared again", async () => {
  const owner = await t.actor({ permissions: ["manage:job-types", "work:jobs"] });
  const [type, path] = ["/api/v1/job-types/recurring.deleted", `${url}/deleted-type`];
  await owner.put(type, { secretArgs: ["$.password"] });
  const serializedArgs = '{"password":"secret"}';
  const recurring = spec({ jobId: "deleted-type", jobTypeName: "recurring.deleted", serializedArgs });
  assert.equal((await owner.post(url, recurring)).status, 201);
  assert.equal((await owner.delete(type)).status, 204);
  const refused = await owner.put(path, { serializedArgs: "no JSON" });
  assert.deepEqual([refused.status, refused.body.code], [400, "VALIDATION_ERROR"]);
  const shown = '{"password":"***","n":1}';
  assert.equal((await owner.put(path, { serializedArgs: shown })).status, 200);
  await owner.put(type, {});
  assert.equal((await owner.get(url)).body.items[0].serializedArgs, shown);
  await owner.post(`${path}/trigger`);
  const [job] =
    (await owner.post("/api/v1/work/claim", { types: ["recurring.deleted"], worker: "one" })).body.jobs;
  assert.deepEqual(job.args, { password: "secret", n: 1 }, "*** keeps the secret");
});
