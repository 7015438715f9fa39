import assert from "node:assert/strict";
import type { Tour } from "./tour.ts";

/** Jobs: one that succeeds, one that always fails. */
export async function jobSteps(tour: Tour): Promise<void> {
  tour.section("Jobs");
  const { member } = tour;
  const ended = async (id: string, statuses: string[]) =>
    await tour.until(`job ${statuses.join(" or ")}`, async () => {
      const job = await member.expect(200, "GET", `/api/v1/jobs/${id}`);
      return statuses.includes(job.status) ? job : null;
    });

  await tour.step("Zoë enqueues a job: Succeeded, and its execution is listed", async () => {
    const job = await member.expect(201, "POST", "/api/v1/jobs", {
      jobTypeName: "steward.echo",
      serializedArgs: JSON.stringify({ hello: "wörld" }),
    });
    await ended(job.id, ["Succeeded"]);
    const executions = await member.expect(200, "GET", `/api/v1/jobs/${job.id}/executions`);
    assert.equal(executions.totalCount, 1);
    assert.equal(executions.items[0].status, "Succeeded");
    assert.match(executions.items[0].output, /wörld/);
  });
  await tour.step("a job that always fails is retried, then dead-lettered", async () => {
    const job = await member.expect(201, "POST", "/api/v1/jobs", {
      jobTypeName: "steward.fail",
      serializedArgs: JSON.stringify({ message: "it never works" }),
      maxRetries: 1,
    });
    await ended(job.id, ["Failed"]);
    const dead = await ended(job.id, ["DeadLettered"]);
    assert.equal(dead.attempts, 2);
    const entries = await member.expect(200, "GET", "/api/v1/dead-letter-jobs");
    const entry = entries.items.find((item: { jobId: string }) => item.jobId === job.id);
    assert.match(entry.errorMessage, /it never works/);
  });
}
