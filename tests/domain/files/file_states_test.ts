import assert from "node:assert/strict";
import type { FileStatus } from "../../../domain/files/file.ts";
import { scanFileJob } from "../../../domain/files/scan_job.ts";
import { PostponeJob } from "../../../domain/jobs/job_type.ts";
import type { Scanner } from "../../../infra/scanner/scanner.ts";
import { ALL, Uploading } from "../../routes/files/uploading.ts";
import { has } from "../../support/answers.ts";
import { jobContext } from "../../support/job_context.ts";
import { utf8 } from "../../support/samples.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

// There is no worker: the test claims each job by hand for a process of its own, which may die at any step.
const t = await setupShared({ JOB_CONCURRENCY: "0" });
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const { platform: p, sql } = t;
const upload = async (text = "a text") => (await files.upload(actor, { bytes: utf8(text) })).fileId;
const statusOf = async (id: string) => (await actor.get(`/api/v1/files/${id}`)).body.status;
const runsOf = async (id: string) => (await sql`select from file_scan_runs where file_id = ${id}`).length;

/** A process with a worker. Its scans hang until `answer`, if they are to. `isBusy`: another job runs, and does not end. */
class Process {
  readonly #worker = crypto.randomUUID();
  readonly #hung = Promise.withResolvers<void>();
  readonly #abort = new AbortController();
  readonly #isBusy: boolean;
  #isTaken = false;
  readonly platform: typeof p;
  answer = this.#hung.resolve;

  constructor({ hangs = false, isBusy = false, change = {} as Partial<typeof p> } = {}) {
    this.#isBusy = isBusy;
    const scan: Scanner["scan"] = async (...args) => {
      if (hangs) await this.#hung.promise;
      return await p.scanner.scan(...args);
    };
    this.platform = { ...p, scanner: { ...p.scanner, scan }, ...change };
  }

  /** Claims the file's job and starts an attempt. */
  async start(fileId: string): Promise<{ ended: Promise<unknown> }> {
    await sql`insert into job_workers (id, host) values (${this.#worker}, 'test') on conflict do nothing`;
    const [job] = await sql<{ id: string; attempts: number }[]>`
      update jobs set status = 'Processing', worker_id = ${this.#worker}, attempts = attempts + 1, started_at = now()
      where job_type_name = 'files.scan' and serialized_args like ${`%${fileId}%`} returning id, attempts`;
    assert.ok(job);
    const { signal } = this.#abort;
    const takeWorker = () => {
      if (this.#isTaken) return Promise.reject(new PostponeJob("taken", 1));
      this.#isTaken = !this.#isBusy;
      return Promise.resolve(this.#isBusy ? null : () => void (this.#isTaken = false));
    };
    const context = jobContext(this.platform, { jobId: job.id, attempt: job.attempts, signal, takeWorker });
    const ended = Promise.try(() => scanFileJob.run({ fileId }, context));
    ended.catch(() => {});
    return { ended };
  }

  /** Starts a scan that hangs. */
  async hangAt(fileId: string): Promise<{ ended: Promise<unknown> }> {
    const before = await runsOf(fileId);
    const started = await this.start(fileId);
    await until(() => runsOf(fileId), (runs) => runs === before + 1);
    return started;
  }

  async scan(fileId: string): Promise<unknown> {
    const { ended } = await this.start(fileId);
    return await ended;
  }

  /** Removes the lease, as other workers see it when the process has died or has lost the database. */
  async loseLease(): Promise<void> {
    await sql`delete from job_workers where id = ${this.#worker}`;
  }

  /** Aborts the attempt, as a living process does when it cannot renew its lease. */
  abort(): void {
    this.#abort.abort(new Error("the lease could not be renewed"));
  }
}

Deno.test("a file whose scan killed a worker, and then three alone, ends Failed; the file beside it ends Available", async () => {
  const [deadly, beside] = [await upload("deadly"), await upload("beside")];
  const first = new Process({ hangs: true });
  await first.hangAt(deadly);
  await first.hangAt(beside);
  await first.loseLease();
  const alone = [1, 2, 3].map(() => new Process({ hangs: true }));
  for (const process of alone) {
    await process.hangAt(deadly);
    await assert.rejects(process.scan(beside), PostponeJob, "the suspect is scanned alone");
    await process.loseLease();
  }
  const third = new Process();
  const [asks] = await Promise.allSettled([third.scan(deadly)]);
  assert.ok(asks.status === "rejected" && asks.reason instanceof PostponeJob);
  const { delayMs } = asks.reason;
  assert.equal(delayMs, p.config.JOB_LEASE_SECONDS * 1_000, "a living worker has time to come back");
  assert.equal(await statusOf(deadly), "Scanning");
  assert.deepEqual(await third.scan(deadly), { status: "Failed" });
  assert.deepEqual(await third.scan(beside), { status: "Available" });
  const { body } = await actor.get(`/api/v1/files/${deadly}/scan-attempts`);
  const errorMessage = "The worker process died 3 times while it scanned only this file.";
  has(body, [{ verdict: "Error", errorMessage }]);
  assert.deepEqual([await runsOf(deadly), await runsOf(beside)], [0, 0]);
  for (const process of [first, ...alone]) process.answer();
});

Deno.test("outages of the database fail no file: a living worker deletes the row of its scan as soon as it can", async () => {
  const id = await upload();
  for (let outage = 1; outage <= 3; outage++) {
    let isAway = false;
    const change = {
      sql: new Proxy(sql, {
        apply: (target, self, args) =>
          isAway ? Promise.reject(new Error("away")) : Reflect.apply(target, self, args),
      }),
    };
    const process = new Process({ hangs: true, change });
    const { ended } = await process.hangAt(id);
    isAway = true;
    process.abort();
    process.answer();
    await process.loseLease();
    assert.equal(await runsOf(id), 1);
    isAway = false;
    await assert.rejects(ended);
    assert.equal(await runsOf(id), 0);
  }
  assert.deepEqual(await new Process().scan(id), { status: "Available" });
});

Deno.test("a worker that comes back before the file is given up clears it", async () => {
  const id = await upload();
  const processes = [1, 2, 3, 4].map(() => new Process({ hangs: true }));
  let last: Promise<unknown> | undefined;
  for (const process of processes) {
    last = (await process.hangAt(id)).ended;
    await process.loseLease();
  }
  await assert.rejects(new Process().scan(id), PostponeJob);
  processes.at(-1)?.abort();
  for (const process of processes) process.answer();
  await assert.rejects(last ?? Promise.resolve());
  assert.deepEqual(await new Process().scan(id), { status: "Available" });
});

Deno.test("a death of a worker that ran another job too counts against no file; after three the file is scanned only alone", async () => {
  const id = await upload();
  const busy = [1, 2, 3].map(() => new Process({ hangs: true, isBusy: true }));
  for (const process of busy) {
    await process.hangAt(id);
    await process.loseLease();
  }
  for (let n = 0; n < 4; n++) {
    const waiting = new Process({ isBusy: true });
    await assert.rejects(waiting.scan(id), PostponeJob);
    await waiting.loseLease();
  }
  const alone = new Process({ hangs: true });
  await alone.hangAt(id);
  await alone.loseLease();
  assert.deepEqual(await new Process().scan(id), { status: "Available" });
  assert.equal(await runsOf(id), 0);
  for (const process of [...busy, alone]) process.answer();
});

const STATES: FileStatus[] = ["Pending", "Scanning", "Available", "Infected", "Failed", "Purged"];
const ALLOWED: Record<FileStatus, FileStatus[]> = {
  Pending: ["Scanning", "Purged"],
  Scanning: ["Available", "Infected", "Failed", "Purged"],
  Available: ["Purged", "Infected"],
  Infected: [],
  Failed: ["Purged"],
  Purged: [],
};

Deno.test("the database allows the known changes of a file's state and no others", async () => {
  for (const from of STATES) {
    for (const to of STATES.filter((state) => state !== from)) {
      const id = await files.fileIn(from, { tenantId: null });
      const move =
        sql`update files set status = ${to}::file_status, completed_at = now(), scan_due_at = now() - interval '1 ms',
        staged_etag = 'x', final_key = ${`files/${id}`}, sha256 = 'abc', available_at = now(), signature_name = 'x',
        purge_reason = ${to === "Purged" ? "x" : null}, purged_at = ${to === "Purged" ? new Date() : null}
        where id = ${id}`;
      const moved = await move.execute().then(() => true, (error) => error.constraint_name);
      assert.equal(moved, ALLOWED[from].includes(to) || "files_transition_known", `${from} to ${to}`);
    }
  }
});

Deno.test("a new file is Pending", async () => {
  const insert =
    sql`insert into files (id, profile, file_name, declared_content_type, size_bytes, staging_key, upload_expires_at,
      status, sha256, final_key, available_at) values (gen_random_uuid(), 'a', 'b', 'c', 1, 'd', now(), 'Available',
      'x', 'y', now())`;
  await assert.rejects(insert.execute(), { constraint_name: "files_transition_known" });
});

Deno.test("no statement can make a file Available that was not scanned", async () => {
  const id = await files.fileIn("Scanning", { tenantId: null });
  await assert.rejects(
    sql`update files set status = 'Available', available_at = now() where id = ${id}`.execute(),
    { constraint_name: "files_available_was_scanned" },
  );
});
