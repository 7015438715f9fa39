// Messages whose sending process is killed: real worker processes and a real SMTP receiver.
import assert from "node:assert/strict";
import { join } from "node:path";
import { answer, startReceiver } from "../../infra/mail/receiver.ts";
import { settleInterrupted } from "../../../domain/notifications/sweep.ts";
import { HttpClient } from "../../support/http.ts";
import { setup } from "../../support/setup.ts";
import { email, path, sent } from "./notifications.ts";
import { mainPool } from "../../../infra/postgres/postgres.ts";

type Step = "MAIL FROM" | "end of DATA" | "accepted";
/** The step at which the receiver waits in the current test. */
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
const t = await setup({ ...settings, JOB_CONCURRENCY: "0", DIRECT_SEND_SECONDS: "1" });
const { config } = t.steward.platform;
const sql = mainPool(t.steward.platform.sql);
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

const urls = new WeakMap<Deno.ChildProcess, string>();

/** The whole service in its own process, on the test's database. */
async function startWorker(): Promise<Deno.ChildProcess> {
  const folder = await Deno.makeTempDir({ prefix: "steward-test-" });
  folders.push(folder);
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", join(import.meta.dirname ?? ".", "../../../main.ts")],
    env: {
      ...settings,
      DATABASE_URL: config.DATABASE_URL ?? "",
      PORT: "0",
      LOG_LEVEL: "error",
      DATA_DIR: folder,
      PUBLIC_URL: t.url,
      TOKEN_KEYS: await Deno.readTextFile(join(config.DATA_DIR, "token-keys.json")),
      S3_ENDPOINT: config.S3_ENDPOINT ?? "",
      S3_ACCESS_KEY: config.S3_ACCESS_KEY ?? "",
      S3_SECRET_KEY: config.S3_SECRET_KEY ?? "",
      S3_BUCKET: config.S3_BUCKET,
    },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  workers.add(child);
  const reader = child.stdout.getReader();
  let output = "";
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    output += new TextDecoder().decode(chunk.value);
    const [, url] = /steward ready on (\S+)/.exec(output) ?? [];
    if (!url) continue;
    urls.set(child, url);
    reader.releaseLock();
    child.stdout.pipeTo(new WritableStream()).catch(() => {}); // keeps the pipe from filling up; ends with the process
    return child;
  }
  workers.delete(child); // it has ended, so it cannot be killed
  const { code, signal } = await child.status;
  throw new Error(`the worker process ended with ${signal ?? code} before it was ready: ${output}`);
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

/** Sends a message with a worker that is killed at `step`, then with another one. */
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
  Deno.test(`if a worker is killed at ${step}, before the server accepted, one mail arrives and both attempts are shown`, async () => {
    const { id, detail } = await killedAt(step, async (id) => {
      assert.equal((await ann.get(`${path}/${id}`)).body.status, "Sending");
      assert.equal(mailsOf(id).length, 0);
    });
    assert.equal(mailsOf(id).length, 1);
    assert.deepEqual(attemptsOf(detail), [["unknown", false], ["smtp", true]]);
  });
}

Deno.test("if a worker is killed between the server's acceptance and the commit, a second mail has the same Message-ID and the doubt is shown", async () => {
  const victim = await startWorker();
  const { promise: locked, resolve: tellLocked } = Promise.withResolvers<void>();
  const { promise: done, resolve: release } = Promise.withResolvers<void>();
  let holding: Promise<unknown> = Promise.resolve();
  let id = "";
  const { promise: idKnown, resolve: tellId } = Promise.withResolvers<string>();
  // while this lock is held the worker cannot record the delivery, so the kill falls between acceptance and commit
  at = {
    step: "accepted",
    reached: async () => {
      const messageId = await idKnown;
      holding = sql.begin(async (tx) => {
        await tx`set local idle_in_transaction_session_timeout = 0`; // the transaction waits for a process to start
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
  const [{ now: lockedAt } = { now: new Date() }] = await sql<
    { now: Date }[]
  >`select clock_timestamp() as now`;
  // the worker does not wait for the lock in the database; it tries the row again and again
  const isAsking = async () =>
    (await sql`select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and query like '%select id from notifications where id = any%' and query not like '%pg_stat_activity%'
      and query_start > ${lockedAt}`).count > 0;
  for (const until = Date.now() + 20_000; !await isAsking();) {
    if (Date.now() > until) throw new Error("the worker does not ask for the row");
  }
  await kill(victim);
  release();
  await holding;
  const between = (await ann.get(`${path}/${id}`)).body;
  assert.deepEqual([between.status, between.deliveryAttempts, mailsOf(id).length], ["Sending", [], 1]);

  const heir = await startWorker();
  const detail = await sentDetail(id);
  await kill(heir);
  assert.equal(mailsOf(id).length, 2, "recognizable as a repetition by the Message-ID");
  assert.deepEqual(attemptsOf(detail), [["unknown", false], ["smtp", true]]);
  assert.match(detail.deliveryAttempts[0].errorMessage, /not known/);
});

Deno.test("if a worker is killed after the commit and before the job ends, one mail arrives", async () => {
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
        await tx`set local idle_in_transaction_session_timeout = 0`; // the transaction waits for a process to start
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

Deno.test("if the process of a direct mail is killed between acceptance and record, the next sweep settles the mail", async () => {
  const victim = await startWorker();
  const there = new HttpClient(urls.get(victim) ?? "", ann.token);
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  at = { step: "accepted", reached: () => kill(victim).then(resolve) };
  const answered = await there.post(
    `${path}/email`,
    { to: ["cut@example.test"], subject: "S", htmlBody: "x" },
  ).catch(() => null);
  assert.equal(answered, null, JSON.stringify(answered?.body));
  await killed;
  const [id = ""] = (await ann.get(`${path}?status=Sending`)).body.items.map((item: { id: string }) =>
    item.id
  );
  assert.equal(mailsOf(id).length, 1);
  const { platform } = t.steward;
  assert.equal(await settleInterrupted(platform), 0, "it may still be alive");
  await sql`update notifications set updated_at = updated_at - interval '20 seconds' where id = ${id}`;
  assert.equal(await settleInterrupted(platform), 1);
  const detail = (await ann.get(`${path}/${id}`)).body;
  assert.match(detail.lastError, /It is not known whether the message was sent/);
  assert.deepEqual([detail.status, ...attemptsOf(detail)], ["Failed", ["unknown", false]]);
  assert.equal(await settleInterrupted(platform), 0);
});

Deno.test("a slow mail server blocks neither a direct mail's request nor its Idempotency-Key", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>();
  at = { step: "MAIL FROM", reached: () => (arrive(), released) };
  const direct = () =>
    ann.post(`${path}/email`, { to: ["slow@example.test"], subject: "S", htmlBody: "x" }, {
      "idempotency-key": "slow",
    });
  const first = await direct();
  await reached;
  assert.deepEqual([first.status, first.body.status], [200, "Sending"]);
  const id = first.body.notificationId;
  const again = await direct();
  assert.deepEqual([again.status, again.body.notificationId, again.body.status], [200, id, "Sending"]);
  await sql`update notifications set updated_at = updated_at - interval '1 minute' where id = ${id}`;
  const isAlive = async () =>
    (await sql`select from notifications where id = ${id} and updated_at > now() - interval '10 seconds'`)
      .count;
  while (await isAlive() === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(await settleInterrupted(t.steward.platform), 0, "its process says that it is alive");
  release();
  const detail = await sentDetail(id);
  assert.deepEqual(attemptsOf(detail), [["smtp", true]]);
  const last = await direct();
  assert.deepEqual([last.status, last.body], [200, {
    notificationId: id,
    status: "Sent",
    statusDisplay: "Sent",
  }]);
  assert.equal(mailsOf(id).length, 1);
});

Deno.test("the outcome of a direct mail is written although another request took over its Idempotency-Key", async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: reached, resolve: arrive } = Promise.withResolvers<void>();
  at = { step: "MAIL FROM", reached: () => (arrive(), released) };
  const direct = ann.post(`${path}/email`, { to: ["taken@example.test"], subject: "S", htmlBody: "x" }, {
    "idempotency-key": "taken",
  });
  await reached;
  await sql`update idempotency_keys set claim = ${crypto.randomUUID()} where status is null`; // as of another instance
  release();
  const { body } = await direct;
  assert.deepEqual(attemptsOf(await sentDetail(body.notificationId)), [["smtp", true]]);
});
