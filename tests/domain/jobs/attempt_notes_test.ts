import assert from "node:assert/strict";
import { AttemptNotes } from "../../../domain/jobs/attempt_notes.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { createLog } from "../../../infra/log.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

Deno.test("a log line with characters the database cannot store loses its fields; other lines stay complete", async () => {
  const notes = new AttemptNotes(sql, createLog("off"));
  const job = { id: newId(), attempts: 1, jobTypeName: "test.notes", traceId: null };
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
