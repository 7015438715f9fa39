import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

const actor = await t.actor();
const outsider = await t.actor();
const url = "/api/v1/jobs";
const echo = (extra: Record<string, unknown> = {}) => ({
  jobTypeName: "steward.echo",
  serializedArgs: '{"hello":"world"}',
  argsTypeName: "Hello",
  ...extra,
});
const later = () => new Date(Date.now() + 3_600_000).toISOString();

Deno.test("a job is enqueued, runs, and stores its execution", async () => {
  const { status, body, headers } = await actor.post(url, echo({ priority: "high", queue: "mail" }));
  assert.equal(status, 201);
  assert.equal(headers.get("location"), `${url}/${body.id}`);
  assert.equal(body.type, "FireAndForget");
  assert.equal(body.status, "Enqueued");
  assert.equal(body.priority, "High");
  assert.equal(body.queue, "mail");
  assert.equal(body.serializedArgs, '{"hello":"world"}');
  assert.equal(body.argsTypeName, "Hello");
  assert.equal(body.maxRetries, 3);
  assert.equal(body.tenantId, actor.tenantId);
  assert.equal(body.createdBy, actor.userId);
  assert.equal(await t.settled(body.id), "Succeeded");
  const job = (await actor.get(`${url}/${body.id}`)).body;
  assert.equal(job.status, "Succeeded");
  assert.equal(job.attempts, 1);
  assert.ok(job.startedAt && job.completedAt);
  const executions = (await actor.get(`${url}/${body.id}/executions`)).body;
  assert.equal(executions.totalCount, 1);
  const [execution] = executions.items;
  assert.equal(execution.status, "Succeeded");
  assert.equal(execution.attemptNumber, 1);
  assert.equal(execution.output, '{"hello":"world"}');
  assert.ok(execution.durationMs >= 0);
});

Deno.test("null members count as omitted", async () => {
  const nulls = { serializedArgs: null, argsTypeName: null, priority: null, queue: null, scheduledAt: null };
  const { status, body } = await actor.post(url, echo({ ...nulls, maxRetries: null, parentJobId: null }));
  assert.equal(status, 201, JSON.stringify(body));
  assert.deepEqual([body.serializedArgs, body.priority, body.queue, body.maxRetries], [
    "{}",
    "Normal",
    "default",
    3,
  ]);
});

Deno.test("every job route needs a token, and a global token needs a tenant", async () => {
  const id = crypto.randomUUID();
  const routes: [string, string][] = [
    ["GET", url],
    ["POST", url],
    ["GET", `${url}/${id}`],
    ["GET", `${url}/${id}/executions`],
    ["GET", `${url}/dashboard/stats`],
    ["POST", `${url}/${id}/cancel`],
    ["GET", "/api/v1/recurring-jobs"],
    ["POST", "/api/v1/recurring-jobs"],
    ["PUT", "/api/v1/recurring-jobs/x"],
    ["POST", "/api/v1/recurring-jobs/x/trigger"],
    ["GET", "/api/v1/dead-letter-jobs"],
    ["POST", `/api/v1/dead-letter-jobs/${id}/retry`],
    ["POST", "/api/v1/dead-letter-jobs/purge"],
  ];
  const global = await t.actor({ global: true });
  for (const [method, path] of routes) {
    assert.equal((await t.nobody.send(method, path)).body.code, "TOKEN_MISSING", `${method} ${path}`);
    assert.equal((await global.send(method, path)).body.code, "FORBIDDEN", `${method} ${path}`);
  }
});

Deno.test("with a global token a system administrator enqueues the service's own jobs", async () => {
  const service = await t.actor({ role: "SystemAdmin", global: true });
  const { body } = await service.post(url, echo());
  assert.equal(body.tenantId, null);
  await t.settled(body.id);
  assert.equal((await actor.get(`${url}/${body.id}`)).body.code, "JOB_NOT_FOUND");
  assert.equal((await t.systemAdmin.get(`${url}/${body.id}`)).status, 200);
});

Deno.test("invalid fields are rejected by name", async () => {
  const cases: [Record<string, unknown>, string, string?][] = [
    [echo({ jobTypeName: "steward.nothing" }), "JOB_TYPE_UNKNOWN"],
    [echo({ jobTypeName: "steward.prune-jobs", serializedArgs: "{}" }), "JOB_TYPE_UNKNOWN"],
    [echo({ jobTypeName: "__proto__" }), "JOB_TYPE_UNKNOWN"],
    [echo({ jobTypeName: undefined }), "VALIDATION_ERROR", "jobTypeName"],
    [echo({ serializedArgs: "{" }), "VALIDATION_ERROR", "serializedArgs"],
    [echo({ serializedArgs: { a: 1 } }), "VALIDATION_ERROR", "serializedArgs"],
    [
      echo({ jobTypeName: "steward.sleep", serializedArgs: '{"milliseconds":-1}' }),
      "VALIDATION_ERROR",
      "serializedArgs",
    ],
    [echo({ priority: "Urgent" }), "VALIDATION_ERROR", "priority"],
    [echo({ queue: "No Good" }), "VALIDATION_ERROR", "queue"],
    [echo({ queue: "a".repeat(65) }), "VALIDATION_ERROR", "queue"],
    [echo({ maxRetries: 26 }), "VALIDATION_ERROR", "maxRetries"],
    [echo({ maxRetries: -1 }), "VALIDATION_ERROR", "maxRetries"],
    [echo({ maxRetries: 1.5 }), "VALIDATION_ERROR", "maxRetries"],
    [echo({ scheduledAt: "tomorrow" }), "VALIDATION_ERROR", "scheduledAt"],
    [echo({ argsTypeName: "x".repeat(201) }), "VALIDATION_ERROR", "argsTypeName"],
    [echo({ argsTypeName: "nul\0" }), "VALIDATION_ERROR", "argsTypeName"],
    [echo({ parentJobId: "x" }), "VALIDATION_ERROR", "parentJobId"],
    [echo({ parentJobId: crypto.randomUUID() }), "VALIDATION_ERROR", "parentJobId"],
  ];
  for (const [body, code, field] of cases) {
    const answer = await actor.post(url, body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.equal(answer.body.code, code, JSON.stringify(body));
    if (field) assert.ok(answer.body.errors[field], `${field} of ${JSON.stringify(answer.body.errors)}`);
  }
});

Deno.test("a future scheduledAt creates a delayed job, a past one runs at once", async () => {
  const scheduledAt = later();
  const delayed = (await actor.post(url, echo({ scheduledAt }))).body;
  assert.equal(delayed.type, "Delayed");
  assert.equal(delayed.status, "Scheduled");
  assert.equal(delayed.scheduledAt, scheduledAt);
  const past = (await actor.post(url, echo({ scheduledAt: "2020-01-01T00:00:00Z" }))).body;
  assert.equal(past.status, "Enqueued");
  assert.equal(past.scheduledAt, "2020-01-01T00:00:00.000Z");
  assert.equal(await t.settled(past.id), "Succeeded");
  const soon = (await actor.post(url, echo({ scheduledAt: new Date(Date.now() + 300).toISOString() }))).body;
  assert.equal(soon.status, "Scheduled");
  assert.equal(await t.settled(soon.id), "Succeeded");
});

Deno.test("a failing job waits for its retry, can be retried at once, and ends as a dead letter", async () => {
  const body = { jobTypeName: "steward.fail", serializedArgs: '{"message":"no luck"}', maxRetries: 1 };
  const { id } = (await actor.post(url, body)).body;
  await t.settled(id, ["Failed"]);
  const failed = (await actor.get(`${url}/${id}`)).body;
  assert.equal(failed.status, "Failed");
  assert.equal(failed.lastError, "no luck");
  const delay = Date.parse(failed.nextRetryAt) - Date.now();
  assert.ok(delay > 2_500 && delay < 6_500, `the first retry is due in 5 s ± 20 %, not in ${delay} ms`);
  const retried = await actor.post(`${url}/${id}/retry-now`);
  assert.equal(retried.status, 200);
  assert.equal(retried.body.nextRetryAt, null);
  assert.equal(await t.settled(id), "DeadLettered");
  assert.equal((await actor.post(`${url}/${id}/retry-now`)).body.code, "JOB_CANNOT_RETRY");
  const { items } = (await actor.get(`${url}/${id}/executions`)).body;
  assert.deepEqual(items.map((e: { attemptNumber: number }) => e.attemptNumber), [2, 1]);
  assert.deepEqual(new Set(items.map((e: { errorMessage: string }) => e.errorMessage)), new Set(["no luck"]));
});

Deno.test("a running attempt is the first execution, and keeps its id", async () => {
  const { id } =
    (await actor.post(url, { jobTypeName: "steward.sleep", serializedArgs: '{"milliseconds":2000}' })).body;
  let running;
  do running = (await actor.get(`${url}/${id}/executions`)).body.items[0]; while (!running?.progressPercent);
  assert.equal(running.status, "Processing");
  assert.equal(running.completedAt, null);
  assert.equal((await actor.post(`${url}/${id}/cancel`)).body.code, "JOB_CANNOT_CANCEL");
  await t.settled(id);
  const [ended] = (await actor.get(`${url}/${id}/executions`)).body.items;
  assert.equal(ended.status, "Succeeded");
  assert.equal(ended.id, running.id);
  assert.ok(ended.durationMs >= 2000);
});

Deno.test("cancel: waiting jobs are cancelled once, ended ones cannot be", async () => {
  const delayed = (await actor.post(url, echo({ scheduledAt: later() }))).body;
  const cancelled = await actor.post(`${url}/${delayed.id}/cancel`);
  assert.equal(cancelled.status, 200);
  assert.equal(cancelled.body.status, "Cancelled");
  assert.equal((await actor.post(`${url}/${delayed.id}/cancel`)).body.code, "JOB_ALREADY_CANCELLED");
  const done = (await actor.post(url, echo())).body;
  await t.settled(done.id);
  const refused = await actor.post(`${url}/${done.id}/cancel`);
  assert.equal(refused.status, 400);
  assert.equal(refused.body.code, "JOB_CANNOT_CANCEL");
  const audit = await t.steward.platform.sql`select action from audit_log where target_id = ${delayed.id}`;
  assert.deepEqual(audit.map((row) => row.action), ["job.cancel"]);
});

Deno.test("of ten simultaneous cancels one succeeds", async () => {
  const { id } = (await actor.post(url, echo({ scheduledAt: later() }))).body;
  const answers = await Promise.all(Array.from({ length: 10 }, () => actor.post(`${url}/${id}/cancel`)));
  assert.equal(answers.filter((answer) => answer.status === 200).length, 1);
  assert.equal(answers.filter((answer) => answer.body.code === "JOB_ALREADY_CANCELLED").length, 9);
});

Deno.test("a job cancelled while it is claimed either never runs or is not cancelled", async () => {
  const outcomes = await Promise.all(Array.from({ length: 60 }, async () => {
    const { id } = (await actor.post(url, echo())).body;
    const answer = await actor.post(`${url}/${id}/cancel`);
    if (answer.status === 400) await t.settled(id);
    const executions = (await actor.get(`${url}/${id}/executions`)).body.totalCount;
    const { status } = (await actor.get(`${url}/${id}`)).body;
    return { cancel: answer.status, status, executions };
  }));
  for (const outcome of outcomes) {
    assert.ok(
      outcome.cancel === 200
        ? outcome.status === "Cancelled" && outcome.executions === 0
        : outcome.status === "Succeeded" && outcome.executions === 1,
      JSON.stringify(outcome),
    );
  }
});

Deno.test("another tenant's job is not found", async () => {
  const { id } = (await actor.post(url, echo({ scheduledAt: later() }))).body;
  for (
    const [method, path] of [["GET", ""], ["GET", "/executions"], ["POST", "/cancel"], ["POST", "/retry-now"]]
  ) {
    const answer = await outsider.send(method ?? "", `${url}/${id}${path}`);
    const none = await outsider.send(method ?? "", `${url}/${crypto.randomUUID()}${path}`);
    assert.equal(answer.status, 404, path);
    assert.equal(answer.body.code, "JOB_NOT_FOUND");
    assert.equal(none.body.code, "JOB_NOT_FOUND");
  }
  assert.equal((await outsider.post(url, echo({ parentJobId: id }))).status, 400);
  assert.equal((await outsider.get(`${url}?tenantId=${actor.tenantId}`)).body.totalCount, 0);
  assert.equal((await t.systemAdmin.get(`${url}/${id}`)).status, 200);
  assert.equal((await t.systemAdmin.post(`${url}/${id}/cancel`)).status, 200);
  assert.equal((await actor.get(`${url}/not-a-uuid`)).body.code, "VALIDATION_ERROR");
});

Deno.test("log lines of an attempt are stored with it", async () => {
  const { id } = (await actor.post(url, echo())).body;
  await t.settled(id);
  const log = await actor.get(`${url}/${id}/executions/1/log`);
  assert.equal(log.status, 200);
  assert.equal(log.body.totalCount, 0);
  assert.equal((await actor.get(`${url}/${id}/executions/2/log`)).body.code, "JOB_NOT_FOUND");
  assert.equal((await outsider.get(`${url}/${id}/executions/1/log`)).body.code, "JOB_NOT_FOUND");
});

Deno.test("a bulk request creates all jobs or none, unless it says to continue on errors", async () => {
  const items = [
    echo(),
    echo({ queue: "No Good" }),
    echo({ jobTypeName: "nope" }),
    echo({ priority: "Low" }),
  ];
  const refused = await outsider.post(`${url}/bulk`, { items });
  assert.equal(refused.status, 400);
  assert.ok(refused.body.errors["items.1.queue"]);
  assert.equal((await outsider.get(url)).body.totalCount, 0);
  const { status, body } = await outsider.post(`${url}/bulk`, { items, continueOnError: true });
  assert.equal(status, 200);
  assert.deepEqual([body.total, body.succeeded, body.failed], [4, 2, 2]);
  assert.deepEqual(body.failures.map((f: { index: number; code: string }) => [f.index, f.code]), [
    [1, "VALIDATION_ERROR"],
    [2, "JOB_TYPE_UNKNOWN"],
  ]);
  for (const job of body.results) assert.equal(await t.settled(job.id), "Succeeded");
  const unstorable = { items: [echo({ queue: "a\0b" }), echo()], continueOnError: true };
  const partly = await outsider.post(`${url}/bulk`, unstorable);
  assert.deepEqual([partly.status, partly.body.succeeded, partly.body.failures[0].index], [200, 1, 0]);
  assert.equal((await outsider.post(`${url}/bulk`, { items: [] })).status, 400);
  assert.equal((await outsider.post(`${url}/bulk`, { items: Array(1001).fill(echo()) })).status, 400);
  const many = await outsider.post(`${url}/bulk`, {
    items: Array(1000).fill(echo({ scheduledAt: later() })),
  });
  assert.equal(many.body.succeeded, 1000);
  assert.equal((await outsider.get(`${url}?status=Scheduled`)).body.totalCount, 1000);
});
