// What remote workers report in heartbeats and settlements.
import assert from "node:assert/strict";
import { RemoteWorker } from "../../support/remote_work.ts";
import { setupShared } from "../../support/setup.ts";
import {
  assertHas,
  declareType,
  executionsOf,
  jobOf,
  JOBS,
  readJob,
  WORKER_PERMISSIONS,
} from "./job_calls.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const tenant = await t.actor({ permissions: WORKER_PERMISSIONS });
const worker = new RemoteWorker(tenant, "one");
const { sql } = t.steward.platform;

/** Declares a type, enqueues a job of it and claims the job. @param serializedArgs JSON as text keeps its numbers */
async function claimOne(args: unknown = {}, type: Record<string, unknown> = {}) {
  const name = await declareType(tenant, type);
  const serializedArgs = typeof args === "string" ? args : JSON.stringify(args);
  const { body } = await tenant.post(JOBS, jobOf(name, {}, { serializedArgs }));
  const claimed = await worker.claim([name]);
  assert.equal(claimed.length, 1);
  return { claimed, name, id: body.id as string };
}
const lastRun = async (id: string) => (await executionsOf(tenant, id))[0];
const linesOf = async (id: string) => (await tenant.get(`${JOBS}/${id}/executions/1/log`)).body.items;

Deno.test("a note without a percentage is kept, and leaves the percentage as it was", async () => {
  const { claimed, id } = await claimOne();
  await worker.beat(claimed, { note: "starting" });
  assertHas(await lastRun(id), { progressPercent: 0, progressNote: "starting" });
  await worker.beat(claimed, { percent: 40, note: "half" });
  await worker.beat(claimed, { note: "sending" });
  assertHas(await lastRun(id), { progressPercent: 40, progressNote: "sending" });
});

Deno.test("fields of a log line may have the names of the line's own members; an error of 8 KiB is kept whole", async () => {
  const { claimed, id } = await claimOne();
  const line = { message: "a", fields: { time: "yesterday", level: "loud", message: { text: "b" }, n: 1 } };
  assert.deepEqual(await worker.beat(claimed, { log: [{ level: "warn", ...line }] }), ["held"]);
  const [{ level, message, fields }] = await linesOf(id);
  assert.deepEqual([level, { message, fields }], ["warn", line]);
  const error = "e".repeat(8 * 1024);
  await worker.settle(claimed, "hopeless", { error });
  assert.equal((await readJob(tenant, id)).lastError, error);
});

Deno.test("secrets of the arguments are masked in what a worker reports", async () => {
  const password = 'se"cret\\word';
  const { claimed, id } = await claimOne({ password }, { secretArgs: ["$.password"] });
  assert.deepEqual(claimed[0]?.args, { password }, "its worker needs it");
  const log = [{ level: "info", message: `tried ${password}`, fields: { password: 1, sent: password } }];
  await worker.beat(claimed, { percent: 1, note: password, log });
  await worker.beat([claimed[0]!, claimed[0]!], { percent: 2, note: password });
  await worker.settle(claimed, "failed", { error: `refused ${password}`, output: { password } });
  const shown = JSON.stringify([await readJob(tenant, id), await lastRun(id), await linesOf(id)]);
  assert.ok(!shown.includes("cret"), shown);
  for (const masked of [/refused \*\*\*/, /tried \*\*\*/]) assert.match(shown, masked);
});

Deno.test("texts about jobs whose arguments are too large to be read for one report are hidden whole", async () => {
  const { claimed, name, id } = await claimOne({ pin: "hush-hush" }, { secretArgs: ["$.pin"] });
  await tenant.post(JOBS, jobOf(name, { pin: "hush-hush" }));
  const [later] = await worker.claim([name]); // arguments are read in the order of the jobs' ids
  assert.ok(later);
  await sql`update jobs set serialized_args = serialized_args || repeat(' ', 32 * 1024 * 1024) where id = ${id}`;
  const noteOf = async () => (await lastRun(later.jobId)).progressNote;
  await worker.beat([...claimed, later], { note: "tried hush-hush" });
  assert.equal(await noteOf(), "***");
  await worker.beat([later], { note: "tried hush-hush" });
  assert.equal(await noteOf(), "tried ***");
  await worker.settle([...claimed, later], "succeeded", { output: { pin: "hush-hush" } });
  assert.equal((await lastRun(later.jobId)).output, '"***"');
});

Deno.test("a masked secret that occurs in numbers, names or times leaves valid JSON; one that is an object is masked", async () => {
  const { claimed, id } = await claimOne(
    { pin: 1234, year: String(new Date().getFullYear()), name: "level", card: { no: "x" } },
    { secretArgs: ["$.pin", "$.year", "$.name", "$.card"] },
  );
  const reported = { n: 91234, level: "pin 1234", ok: true, list: [1234, 5] };
  const shown = { n: "***", "***": "pin ***", ok: true, list: ["***", 5] };
  const log = [{ level: "info", message: "pin 1234", fields: reported }, { level: "info", message: "b" }];
  assert.deepEqual(await worker.beat(claimed, { log }), ["held"]);
  const lines = await linesOf(id);
  assert.deepEqual(lines.map(({ message }: { message: string }) => message), ["pin ***", "b"]);
  assert.deepEqual(lines[0].fields, shown);
  assert.deepEqual(await worker.settle(claimed, "succeeded", { output: reported }), ["settled"]);
  assert.deepEqual(JSON.parse((await lastRun(id)).output), shown);

  const other = await claimOne({ card: { no: "x" } }, { secretArgs: ["$.card"] });
  await worker.settle(other.claimed, "succeeded", { output: { was: { no: "x" } } });
  assert.equal((await lastRun(other.id)).output, '"***"');
});

/** Sends a body whose text `JSON.stringify` would change. */
async function sendText(path: string, body: string): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${tenant.token}`, "content-type": "application/json" };
  const answer = await fetch(`${t.url}/api/v1/${path}`, { method: "POST", headers, body });
  return { status: answer.status, text: await answer.text() };
}
const EXACT = '{"id":9007199254740993,"list":[-12345678901234567890,1e400,0.1],"text":"9007199254740993"}';

Deno.test("a worker gets numbers that a double cannot hold as they were given", async () => {
  const name = await declareType(tenant);
  await tenant.post(JOBS, jobOf(name, {}, { serializedArgs: EXACT }));
  const { text } = await sendText("work/claim", JSON.stringify({ types: [name], worker: "one" }));
  assert.ok(text.includes(`"args":${EXACT},`), text);
});

Deno.test("an output keeps numbers that a double cannot hold, and is refused if it is too long only as it was written", async () => {
  const { id } = await claimOne({ pin: "hush-hush" }, { secretArgs: ["$.pin"] });
  const settled = `"jobId":"${id}","attempt":1,"outcome":"succeeded"`;
  const settle = (output: string) => sendText("work/settle", `{"jobs":[{${settled},"output":${output}}]}`);
  assert.match((await settle(`1.${"0".repeat(64 * 1024)}`)).text, /"status":400.*jobs\.0\.output/);
  assert.equal((await settle(EXACT.replace('"text":"', '"text":"hush-hush '))).status, 200);
  const { output } = await lastRun(id);
  assert.equal(output, EXACT.replace('"text":"', '"text":"*** '), "beside a masked secret");
});

Deno.test("arguments of a retry keep numbers that a double cannot hold", async () => {
  const first = await claimOne({ pin: "hush" }, { secretArgs: ["$.pin"] });
  await worker.settle(first.claimed, "hopeless");
  const args = EXACT.replace("{", '{"pin":"***",');
  const retried = await sendText(`jobs/${first.id}/retry`, `{"args":${args}}`);
  assert.equal(retried.status, 200, retried.text);
  const { id, serializedArgs } = JSON.parse(retried.text);
  assert.equal(serializedArgs, args, "as it is shown");
  const [row] = await sql`select serialized_args from jobs where id = ${id}`;
  assert.equal(row?.serializedArgs, args.replace("***", "hush"), "as it is stored");
});

Deno.test("arguments that are not JSON are shown and claimed as text, and hidden if they may hold secrets", async () => {
  for (const [secretArgs, shown] of [[[], "{broken"], [["$.pin"], '"***"']] as const) {
    const { id, claimed, name } = await claimOne({}, { secretArgs });
    await worker.settle(claimed, "released");
    await sql`update jobs set serialized_args = '{broken' where id = ${id}`;
    const { body } = await tenant.get(`${JOBS}?searchTerm=${name}`);
    assertHas(body.items[0], { id, serializedArgs: shown });
    assert.deepEqual((await worker.claim([name])).map(({ args }) => args), ["{broken"]);
  }
});
