// What remote workers report in heartbeats and settlements.
import assert from "node:assert/strict";
import { RemoteWorker } from "../../support/remote_work.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const tenant = await t.actor({ permissions: ["manage:job-types", "work:jobs"] });
const worker = new RemoteWorker(tenant, "one");

let count = 0;
/** Declares a type, enqueues a job of it and claims the job. */
async function claimOne(args: unknown, type: Record<string, unknown> = {}) {
  const name = `reports.type-${++count}`;
  assert.equal((await tenant.put(`/api/v1/job-types/${name}`, type)).status, 201);
  const job = { jobTypeName: name, serializedArgs: JSON.stringify(args) };
  assert.equal((await tenant.post("/api/v1/jobs", job)).status, 201);
  const claimed = await worker.claim([name]);
  assert.equal(claimed.length, 1);
  return { claimed, id: claimed[0]?.jobId ?? "" };
}
const lastRun = async (id: string) => (await tenant.get(`/api/v1/jobs/${id}/executions`)).body.items[0];
const logOf = async (id: string) => (await tenant.get(`/api/v1/jobs/${id}/executions/1/log`)).body.items;

Deno.test("a note without a percentage is kept, and leaves the percentage as it was", async () => {
  const { claimed, id } = await claimOne({});
  await worker.beat(claimed, { note: "starting" });
  const first = await lastRun(id);
  assert.deepEqual([first.progressPercent, first.progressNote], [0, "starting"]);
  await worker.beat(claimed, { percent: 40, note: "half" });
  await worker.beat(claimed, { note: "sending" });
  const second = await lastRun(id);
  assert.deepEqual([second.progressPercent, second.progressNote], [40, "sending"]);
});

Deno.test("fields of a log line may have the names of the line's own members", async () => {
  const { claimed, id } = await claimOne({});
  const fields = { time: "yesterday", level: "loud", message: { text: "b" }, n: 1 };
  const log = [{ level: "warn", message: "a", fields }];
  assert.deepEqual(await worker.beat(claimed, { log }), ["held"]);
  const [line] = await logOf(id);
  assert.deepEqual([line.level, line.message, line.fields], ["warn", "a", fields]);
});

Deno.test("a masked secret that occurs in numbers, names or times leaves valid JSON", async () => {
  const { claimed, id } = await claimOne(
    { pin: 1234, year: String(new Date().getFullYear()), name: "level", card: { no: "x" } },
    { secretArgs: ["$.pin", "$.year", "$.name", "$.card"] },
  );
  const reported = { n: 91234, level: "pin 1234", ok: true, list: [1234, 5] };
  const shown = { n: "***", "***": "pin ***", ok: true, list: ["***", 5] };
  const log = [{ level: "info", message: "pin 1234", fields: reported }, { level: "info", message: "b" }];
  assert.deepEqual(await worker.beat(claimed, { log }), ["held"]);
  const lines = await logOf(id);
  assert.deepEqual(lines.map(({ message }: { message: string }) => message), ["pin ***", "b"]);
  assert.deepEqual(lines[0].fields, shown);
  assert.deepEqual(await worker.settle(claimed, "succeeded", { output: reported }), ["settled"]);
  assert.deepEqual(JSON.parse((await lastRun(id)).output), shown);
});

Deno.test("a secret that is an object is masked in an output that repeats it", async () => {
  const { claimed, id } = await claimOne({ card: { no: "x" } }, { secretArgs: ["$.card"] });
  await worker.settle(claimed, "succeeded", { output: { was: { no: "x" } } });
  assert.equal((await lastRun(id)).output, '"***"');
});

Deno.test("an error of 8 KiB is kept whole", async () => {
  const { claimed, id } = await claimOne({});
  const error = "e".repeat(8 * 1024);
  await worker.settle(claimed, "hopeless", { error });
  assert.equal((await tenant.get(`/api/v1/jobs/${id}`)).body.lastError, error);
});

/** Sends a body whose text `JSON.stringify` would change. */
async function sendText(path: string, body: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${t.url}/api/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${tenant.token}`, "content-type": "application/json" },
    body,
  });
  return { status: answer.status, text: await answer.text() };
}

const EXACT = '{"id":9007199254740993,"list":[-12345678901234567890,1e400,0.1],"text":"9007199254740993"}';

Deno.test("an output keeps numbers that a double cannot hold, also beside masked secrets", async () => {
  const name = "reports.exact";
  await tenant.put(`/api/v1/job-types/${name}`, { secretArgs: ["$.pin"] });
  await tenant.post("/api/v1/jobs", { jobTypeName: name, serializedArgs: '{"pin":"hush-hush"}' });
  const [job] = await new RemoteWorker(tenant, "one").claim([name]);
  const output = EXACT.replace('"text":"', '"text":"hush-hush ');
  const settled = await sendText(
    "work/settle",
    `{"jobs":[{"jobId":"${job?.jobId}","attempt":${job?.attempt},"outcome":"succeeded","output":${output}}]}`,
  );
  assert.equal(settled.status, 200, settled.text);
  const { items: [execution] } = (await tenant.get(`/api/v1/jobs/${job?.jobId}/executions`)).body;
  assert.equal(execution.output, EXACT.replace('"text":"', '"text":"*** '));
});

Deno.test("an output that is too long only as it was written is refused", async () => {
  const name = "reports.zeros";
  await tenant.put(`/api/v1/job-types/${name}`, {});
  await tenant.post("/api/v1/jobs", { jobTypeName: name, serializedArgs: "{}" });
  const [job] = await new RemoteWorker(tenant, "one").claim([name]);
  const settle = (output: string) =>
    sendText(
      "work/settle",
      `{"jobs":[{"jobId":"${job?.jobId}","attempt":${job?.attempt},"outcome":"succeeded","output":${output}}]}`,
    );
  const refused = await settle(`1.${"0".repeat(64 * 1024)}`);
  assert.equal(refused.status, 400);
  assert.match(refused.text, /jobs\.0\.output/);
  assert.equal((await settle('"ok"')).status, 200);
});

Deno.test("arguments of a retry keep numbers that a double cannot hold", async () => {
  const name = "reports.retried";
  await tenant.put(`/api/v1/job-types/${name}`, { secretArgs: ["$.pin"] });
  const { body: first } = await tenant.post("/api/v1/jobs", {
    jobTypeName: name,
    serializedArgs: '{"pin":"hush"}',
  });
  const worker = new RemoteWorker(tenant, "one");
  await worker.settle(await worker.claim([name]), "hopeless");
  const args = EXACT.replace("{", '{"pin":"***",');
  const retried = await sendText(`jobs/${first.id}/retry`, `{"args":${args}}`);
  assert.equal(retried.status, 200, retried.text);
  const { id, serializedArgs } = JSON.parse(retried.text);
  assert.equal(serializedArgs, args, "as it is shown");
  const [row] = await t.steward.platform.sql`select serialized_args from jobs where id = ${id}`;
  assert.equal(row?.serializedArgs, args.replace("***", "hush"), "as it is stored");
});

Deno.test("arguments that are not JSON are shown and claimed as text, and hidden if they may hold secrets", async () => {
  const { sql } = t.steward.platform;
  const broken = async (name: string, more: Record<string, unknown>) => {
    await tenant.put(`/api/v1/job-types/${name}`, more);
    const { body } = await tenant.post("/api/v1/jobs", { jobTypeName: name, serializedArgs: "{}" });
    await sql`update jobs set serialized_args = '{broken' where id = ${body.id}`;
    return body.id;
  };
  const open = await broken("reports.broken", {});
  const secret = await broken("reports.broken-secret", { secretArgs: ["$.pin"] });
  const { status, body } = await tenant.get("/api/v1/jobs?searchTerm=reports.broken");
  assert.equal(status, 200, JSON.stringify(body));
  const shown = new Map(
    body.items.map((job: { id: string; serializedArgs: string }) => [job.id, job.serializedArgs]),
  );
  assert.deepEqual([shown.get(open), shown.get(secret)], ["{broken", '"***"']);
  const claimed = await new RemoteWorker(tenant, "one").claim(["reports.broken", "reports.broken-secret"]);
  assert.deepEqual(claimed.map(({ args }) => args), ["{broken", "{broken"]);
});

Deno.test("a worker gets numbers that a double cannot hold as they were given", async () => {
  const args = '{"id":9007199254740993,"list":[-12345678901234567890,1e400,0.1],"text":"9007199254740993"}';
  const name = "reports.numbers";
  await tenant.put(`/api/v1/job-types/${name}`, {});
  await tenant.post("/api/v1/jobs", { jobTypeName: name, serializedArgs: args });
  const answer = await fetch(`${t.url}/api/v1/work/claim`, {
    method: "POST",
    headers: { authorization: `Bearer ${tenant.token}`, "content-type": "application/json" },
    body: JSON.stringify({ types: [name], worker: "one" }),
  });
  const text = await answer.text();
  assert.ok(text.includes(`"args":${args},`), text);
});
