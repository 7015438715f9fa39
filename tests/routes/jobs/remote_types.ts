import assert from "node:assert/strict";
import type { Actor } from "../../support/setup.ts";

let count = 0;

/** Declares a job type that remote workers run. @returns its name */
export async function declareType(by: Actor, type: Record<string, unknown> = {}): Promise<string> {
  const name = `work.type-${++count}`;
  const { status, body } = await by.put(`/api/v1/job-types/${name}`, type);
  assert.equal(status, 201, JSON.stringify(body));
  return name;
}

/** Enqueues a job. @returns its id */
export async function enqueueJob(
  by: Actor,
  jobTypeName: string,
  args: unknown = {},
  more: Record<string, unknown> = {},
): Promise<string> {
  const job = { jobTypeName, serializedArgs: JSON.stringify(args), ...more };
  const { status, body } = await by.post("/api/v1/jobs", job);
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}
