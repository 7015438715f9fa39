import assert from "node:assert/strict";
import { runAttempt } from "../../../domain/jobs/attempt.ts";
import type { AttemptNotes } from "../../../domain/jobs/attempt_notes.ts";
import { firstIdOf } from "../../../domain/shared/ids.ts";
import { JobTypes } from "../../../domain/jobs/job_type.ts";
import { NO_PLATFORM } from "../../support/job_context.ts";

const MINUTE_MS = 60_000;

/** An old job whose type is not registered anywhere and whose retries are used up. */
const settle = async (ageMs: number) => {
  const job = {
    id: firstIdOf(new Date(Date.now() - ageMs)),
    tenantId: null,
    createdBy: null,
    traceId: null,
    jobTypeName: "test.of-tomorrow",
    serializedArgs: "{}",
    attempts: 4,
    failures: 3,
    maxRetries: 3,
    outageMs: null,
    lostLeases: 0,
    waitedMs: 0,
  };
  const o = { types: new JobTypes(), notes: {} as AttemptNotes, platform: NO_PLATFORM };
  const settlement = await runAttempt(job, o).settlement;
  assert.ok(settlement);
  return settlement;
};

Deno.test("a new job of a type this instance does not know waits for an instance that does", async () => {
  const { execution, next, countsAsFailure, delayMs, waitReason } = await settle(MINUTE_MS);
  assert.deepEqual([execution, next, countsAsFailure], [null, "Scheduled", false]);
  assert.ok(delayMs > 0);
  assert.match(waitReason ?? "", /no job type has the name test\.of-tomorrow in this instance/);
});

Deno.test("an old job that no instance has known for 15 minutes is dead-lettered", async () => {
  const { next, error } = await settle(16 * MINUTE_MS);
  assert.deepEqual([next, error], ["DeadLettered", "no job type has the name test.of-tomorrow"]);
});
