// What a message comes to when the process that sends it is killed: real worker processes, a real SMTP receiver.
import assert from "node:assert/strict";
import { join } from "node:path";
import { answer, startReceiver } from "../../infra/mail/receiver.ts";
import { setup } from "../../support/setup.ts";
import { email, path, sent } from "./notifications.ts";

type Step = "MAIL FROM" | "end of DATA" | "accepted";
/** What the receiver waits for at a step, in the test that is running. */
let at: { step: Step; reached: () => Promise<void> } | null = null;
const pause = async (step: Step) => {
  if (at?.step !== step) return;
  const { reached } = at;
  at = null;
  await reached();
};
const arrived: { raw: string }[] = [];
const receiver = await startReceiver({
  onMailFrom: (_address, _session, callback) => void pause("MAIL FROM").then(() => callback()),
  onData(stream, _session, callback) {
    const chunks: Uint8Array[] = [];
    stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    stream.on("end", async () => {
      const isCut = at?.step === "end of DATA";
      await pause("end of DATA");
      if (isCut) return callback(answer(451, "nobody is listening any more"));
      arrived.push({ raw: await new Blob(chunks as BlobPart[]).text() });
      await pause("accepted");
      callback(null, "queued");
    });
  },
});
const settings = {
  SMTP_URL: receiver.url,
  MAIL_FROM: "Steward <service@steward.test>",
  JOB_LEASE_SECONDS: "1",
};
const t = await setup({ ...settings, JOB_CONCURRENCY: "0" });
const { config, sql } = t.steward.platform;
const folders: string[] = [];
const workers = new Set<Deno.ChildProcess>();
Deno.test.afterAll(async () => {
  for (const worker of workers) await kill(worker);
  await t.stop();
  await receiver[Symbol.asyncDispose]();
  for (const folder of folders) await Deno.remove(folder, { recursive: true });
});
const ann = await t.actor({ permissions: ["send:notifications"] });
const mailsOf = (id: string) => arrived.filter(({ raw }) => raw.includes(`Message-ID: <${id}@steward.test>`));

/** The whole service in a process of its own, on the test's database. */
async function startWorker(): Promise<Deno.ChildProcess> {
  const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
  folders.push(folder);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", join(import.meta.dirname ?? ".", "../../../main.ts")],
    env: {
      ...settings,
      ...{ DATABASE_URL: config.DATABASE_URL ?? "", DATA_DIR: folder, PORT: "0", LOG_LEVEL: "error" },
      ...{ S3_ENDPOINT: config.S3_ENDPOINT ?? "", S3_ACCESS_KEY: config.S3_ACCESS_KEY ?? "" },
      ...{ S3_SECRET_KEY: config.S3_SECRET_KEY ?? "", S3_BUCKET: config.S3_BUCKET },
    },
    ...{ stdout: "piped", stderr: "inherit" },
  }).spawn();
  workers.add(child);
  const reader = child.stdout.getReader();
  let output = "";
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    output += new TextDecoder().decode(chunk.value);
    if (!output.includes("steward ready")) continue;
    reader.releaseLock();
    child.stdout.pipeTo(new WritableStream()).catch(() => {}); // keeps the pipe from filling; ends with the process
    return child;
  }
  throw new Error(`the worker process did not start: ${output}`);
}

async function kill(worker: Deno.ChildProcess): Promise<void> {
  workers.delete(worker);
  worker.kill("SIGKILL");
  await worker.status;
}

async function sentDetail(id: string) {
  for (const until = Date.now() + 20_000; Date.now() < until;) {
    const { body } = await ann.get(`${path}/${id}`);
    if (body.status === "Sent") return body;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`the message did not go out: ${JSON.stringify((await ann.get(`${path}/${id}`)).body)}`);
}

/** Sends a message through a worker that is killed at `step`, then through another that lives. */
async function killedAt(step: Step, onKilled = async (_id: string) => {}) {
  const victim = await startWorker();
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  at = { step, reached: () => kill(victim).then(resolve) };
  const id = await sent(ann, email());
  await killed;
  await onKilled(id);
  const heir = await startWorker();
  const detail = await sentDetail(id);
  await kill(heir);
  return { id, detail };
}
const attemptsOf = (detail: { deliveryAttempts: { providerName: string; isSuccess: boolean }[] }) =>
  detail.deliveryAttempts.map((each) => [each.providerName, each.isSuccess]);

for (const step of ["MAIL FROM", "end of DATA"] as const) {
  Deno.test(`a worker killed at ${step}, before the server said yes: one mail, and both attempts are told`, async () => {
    const { id, detail } = await killedAt(step, async (id) => {
      assert.equal((await ann.get(`${path}/${id}`)).body.status, "Sending");
      assert.equal(mailsOf(id).length, 0);
    });
    assert.equal(mailsOf(id).length, 1);
    assert.deepEqual(attemptsOf(detail), [["unknown", false], ["smtp", true]]);
  });
}

Deno.test("a worker killed between the server's yes and our commit: a second mail of the same Message-ID, and the doubt is told", async () => {
  const victim = await startWorker();
  const { promise: locked, resolve: tellLocked } = Promise.withResolvers<void>();
  const { promise: done, resolve: release } = Promise.withResolvers<void>();
  let holding: Promise<unknown> = Promise.resolve();
  let id = "";
  const { promise: idKnown, resolve: tellId } = Promise.withResolvers<string>();
  // what the worker would write about the delivery waits for this lock, so the kill falls between yes and commit
  at = {
    step: "accepted",
    reached: async () => {
      const messageId = await idKnown;
      holding = sql.begin(async (tx) => {
        await tx`select from notifications where id = ${messageId} for update`;
        tellLocked();
        await done;
      });
      await locked;
    },
  };
  id = await sent(ann, email());
  tellId(id);
  await locked;
  const waiting = () =>
    sql<{ pid: number }[]>`select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%notification_attempts%'`;
  while ((await waiting()).length === 0);
  await kill(victim);
  // a statement that waits for a lock outlives its client; the connection's end is what the crash stands for
  for (const { pid } of await waiting()) await sql`select pg_terminate_backend(${pid})`;
  while ((await waiting()).length > 0);
  release();
  await holding;
  const between = (await ann.get(`${path}/${id}`)).body;
  assert.deepEqual([between.status, between.deliveryAttempts, mailsOf(id).length], ["Sending", [], 1]);

  const heir = await startWorker();
  const detail = await sentDetail(id);
  await kill(heir);
  assert.equal(mailsOf(id).length, 2, "told apart from a new message by its Message-ID");
  assert.deepEqual(attemptsOf(detail), [["unknown", false], ["smtp", true]]);
  assert.match(detail.deliveryAttempts[0].errorMessage, /not known/);
});

Deno.test("a worker killed after our commit, before the job is done: one mail", async () => {
  const victim = await startWorker();
  const { promise: done, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: tellLocked } = Promise.withResolvers<void>();
  const { promise: idKnown, resolve: tellId } = Promise.withResolvers<string>();
  let holding: Promise<unknown> = Promise.resolve();
  at = {
    step: "accepted",
    reached: async () => {
      const messageId = await idKnown;
      holding = sql.begin(async (tx) => {
        await tx`select from jobs where id = (select job_id from notifications where id = ${messageId}) for update`;
        tellLocked();
        await done;
      });
      await locked;
    },
  };
  const id = await sent(ann, email());
  tellId(id);
  await locked;
  await sentDetail(id);
  await kill(victim);
  const pids = await sql<{ pid: number }[]>`select pid from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  for (const { pid } of pids) await sql`select pg_terminate_backend(${pid})`;
  release();
  await holding;
  const heir = await startWorker();
  const jobStatus = async () =>
    (await sql<{ status: string }[]>`select j.status from jobs j join notifications n on n.job_id = j.id
      where n.id = ${id}`)[0]?.status;
  while (await jobStatus() !== "Succeeded") await new Promise((resolve) => setTimeout(resolve, 50));
  await kill(heir);
  assert.equal(mailsOf(id).length, 1);
  assert.deepEqual(attemptsOf((await ann.get(`${path}/${id}`)).body), [["smtp", true]]);
});
