// Messages whose sending process is killed: real worker processes and a real SMTP receiver.
import assert from "node:assert/strict";
import { mainPool } from "../../../infra/postgres/postgres.ts";
import { answer, startReceiver } from "../../infra/mail/receiver.ts";
import { pluck } from "../../support/answers.ts";
import { type ServiceProcess, startBeside } from "../../support/service_process.ts";
import { setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { email, path, sent } from "./notifications.ts";

type Step = "MAIL FROM" | "end of DATA" | "accepted";
/** The step at which the receiver waits in the current test. */
let at: { step: Step; reached: () => Promise<void> } | null = null;
const pause = async (step: Step) => {
  if (at?.step !== step) return;
  const { reached } = at;
  at = null;
  await reached();
};
const arrived: string[] = [];
const receiver = await startReceiver({
  onMailFrom: (_address, _session, callback) => void pause("MAIL FROM").then(() => callback()),
  onData(stream, _session, callback) {
    const chunks: Uint8Array[] = [];
    stream.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    stream.on("end", async () => {
      const isCut = at?.step === "end of DATA";
      await pause("end of DATA");
      if (isCut) return callback(answer(451, "nobody is listening any more"));
      arrived.push(await new Blob(chunks as BlobPart[]).text());
      await pause("accepted");
      callback(null, "queued");
    });
  },
});
const MAIL_FROM = "Steward <service@steward.test>";
const settings = { SMTP_URL: receiver.url, MAIL_FROM, JOB_LEASE_SECONDS: "1" };
const t = await setup({ ...settings, JOB_CONCURRENCY: "0" });
const sql = mainPool(t.sql);
const workers = new Set<ServiceProcess>();
Deno.test.afterAll(async () => {
  for (const worker of workers) await worker.stop("SIGKILL");
  await t.stop();
  await receiver[Symbol.asyncDispose]();
});
const ann = await t.actor({ permissions: ["send:notifications"] });
const mailsOf = (id: string) => arrived.filter((raw) => raw.includes(`Message-ID: <${id}@steward.test>`));
/** The first and the last attempt: on a busy machine, the heir's lease may end too, which adds one between them. */
const attemptsOf = (detail: { deliveryAttempts: unknown[] }) => {
  const all = pluck(detail.deliveryAttempts, "providerName", "isSuccess");
  return [all.at(0), all.at(-1)];
};
const read = async (id: string) => (await ann.get(`${path}/${id}`)).body;
const sentDetail = (id: string) => until(() => read(id), ({ status }) => status === "Sent");

/** The whole service in its own process, on the test's database. */
async function startWorker(): Promise<ServiceProcess> {
  const worker = await startBeside(t, { ...settings, PUBLIC_URL: t.url });
  workers.add(worker);
  return worker;
}
const kill = async (worker: ServiceProcess) => {
  workers.delete(worker);
  await worker.stop("SIGKILL");
};
/** Waits with another worker. */
async function byAnHeir<T>(work: () => Promise<T>): Promise<T> {
  const heir = await startWorker();
  const result = await work();
  await kill(heir);
  return result;
}

for (const step of ["MAIL FROM", "end of DATA"] as const) {
  Deno.test(`if a worker is killed at ${step}, before the server accepted, one mail arrives and both attempts are shown`, async () => {
    const victim = await startWorker();
    const killed = Promise.withResolvers<void>();
    at = { step, reached: () => kill(victim).then(killed.resolve) };
    const id = await sent(ann, email());
    await killed.promise;
    assert.deepEqual([(await read(id)).status, mailsOf(id).length], ["Sending", 0]);
    const detail = await byAnHeir(() => sentDetail(id));
    assert.equal(mailsOf(id).length, 1);
    assert.deepEqual(attemptsOf(detail), [["unknown", false], ["smtp", true]]);
  });
}

Deno.test("if a worker is killed between the server's acceptance and the commit, a second mail has the same Message-ID and the doubt is shown", async () => {
  const [locked, done] = [0, 1].map(() => Promise.withResolvers<string>());
  let holding: Promise<unknown> = Promise.resolve();
  const reached = async () => {
    holding = sql.begin(async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 0`; // the transaction waits for a process to start
      await tx`lock table notifications in exclusive mode`; // rows are read, but not locked
      locked?.resolve("");
      await done?.promise;
    });
    await locked?.promise;
  };
  const victim = await startWorker();
  at = { step: "accepted", reached };
  const id = await sent(ann, email());
  await locked?.promise;
  const waits = () =>
    sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
      and query like '%select id from notifications where id = any%'`;
  await until(waits, ({ count }) => count > 0, { what: "a worker that waits for the row" });
  await kill(victim);
  done?.resolve("");
  await holding;
  const between = await read(id);
  assert.deepEqual([between.status, between.deliveryAttempts, mailsOf(id).length], ["Sending", [], 1]);
  const detail = await byAnHeir(() => sentDetail(id));
  assert.equal(mailsOf(id).length, 2, "recognizable as a repetition by the Message-ID");
  assert.deepEqual(attemptsOf(detail), [["unknown", false], ["smtp", true]]);
  assert.match(detail.deliveryAttempts[0].errorMessage, /not known/);
});
