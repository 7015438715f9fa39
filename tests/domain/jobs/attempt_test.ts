import assert from "node:assert/strict";
import { z } from "zod";
import { runAttempt } from "../../../domain/jobs/attempt.ts";
import type { AttemptNotes } from "../../../domain/jobs/attempt_notes.ts";
import { defineJob, JobTypes } from "../../../domain/jobs/job_type.ts";

const job = {
  id: crypto.randomUUID(),
  tenantId: null,
  jobTypeName: "test.answer",
  serializedArgs: "{}",
  attempts: 1,
  failures: 0,
  maxRetries: 0,
  createdBy: null,
  traceId: null,
};
const unused = {} as AttemptNotes;

function settle(run: () => Promise<unknown>) {
  const types = new JobTypes();
  types.register(defineJob({ name: "test.answer", args: z.object({}), run }));
  return runAttempt(job, types, unused).settlement;
}

Deno.test("an output that cannot be written as JSON fails the attempt, not the process", async () => {
  const { next, error } = await settle(() => Promise.resolve({ count: 1n }));
  assert.equal(next, "DeadLettered");
  assert.match(error ?? "", /BigInt/);
});

Deno.test("code that throws what has no text fails the attempt, not the process", async () => {
  const { next, error } = await settle(() => Promise.reject(Object.create(null)));
  assert.deepEqual([next, error], ["DeadLettered", "The job threw something that has no text."]);
});

Deno.test("code that throws before it returns a promise fails the attempt", async () => {
  const { next, error } = await settle(() => {
    throw new Error("at once");
  });
  assert.deepEqual([next, error], ["DeadLettered", "at once"]);
});
