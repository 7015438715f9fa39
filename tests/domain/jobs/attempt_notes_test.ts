import assert from "node:assert/strict";
import { AttemptNotes } from "../../../domain/jobs/attempt_notes.ts";
import { insertJobs } from "../../../domain/jobs/enqueue.ts";
import { createLog } from "../../../infra/log.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

async function newJob() {
  const job = { jobTypeName: "test.notes", serializedArgs: "{}", maxRetries: 0 };
  const [id = ""] = await transact(sql, (tx) => insertJobs({ wakeUps: { at() {} } }, tx, [job]));
  return { id, attempts: 1, jobTypeName: job.jobTypeName, traceId: null };
}

Deno.test("an attempt whose job was deleted with its tenant leaves no log lines and no progress", async () => {
  const notes = new AttemptNotes(sql, createLog("off"));
  const [deleted, kept] = [await newJob(), await newJob()];
  await sql`delete from jobs where id = ${deleted.id}`;
  for (const job of [deleted, kept]) {
    const { log, progress } = notes.open(job);
    log.info("personal data");
    progress(50, "half");
  }
  await notes.flush();
  for (const table of ["job_log_lines", "job_progress"]) {
    const rows = await sql`select job_id from ${sql(table)} where job_id in (${deleted.id}, ${kept.id})`;
    assert.deepEqual(rows.map(({ jobId }) => jobId), [kept.id], table);
  }
});

Deno.test("a log line with characters the database cannot store loses its fields; other lines stay complete", async () => {
  const notes = new AttemptNotes(sql, createLog("off"));
  const job = await newJob();
  const { log, flush } = notes.open(job);
  log.info("whole", { emoji: "\u{1F600}" });
  log.info("half", { text: "\ud800" });
  log.info("nul", { text: "a\0b" });
  log.info("half \udc00 of a pair");
  await flush();
  const rows =
    await sql`select message, fields from job_log_lines where job_id = ${job.id} order by line_number`;
  assert.deepEqual([...rows], [
    { message: "whole", fields: { emoji: "\u{1F600}" } },
    { message: "half", fields: null },
    { message: "nul", fields: null },
    { message: "half \ufffd of a pair", fields: null },
  ]);
});
