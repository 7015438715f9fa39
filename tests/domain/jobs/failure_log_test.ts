import assert from "node:assert/strict";
import { FailureLog } from "../../../domain/jobs/instance/engine.ts";
import { recoverLostJobs } from "../../../domain/jobs/engine/lease.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { createLog } from "../../../infra/log.ts";
import { endedAttempt } from "../../support/job_context.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();

const linesOf = (logs: string[], jobId: string) =>
  logs.map((line) => JSON.parse(line)).filter((line) =>
    line.jobId === jobId && line.message !== "failing on request"
  );

Deno.test("each failed attempt and each dead letter is one log line, with secrets masked", async () => {
  const actor = await t.actor();
  const message = "no luck at https://user:hunter2@example.test/";
  const args = { jobTypeName: "steward.fail", serializedArgs: JSON.stringify({ message }), maxRetries: 1 };
  const { id } = (await actor.post("/api/v1/jobs", args)).body;
  await t.settled(id, ["Failed"]);
  await actor.post(`/api/v1/jobs/${id}/retry-now`);
  await t.settled(id, ["DeadLettered"]);
  const about = {
    jobId: id,
    jobTypeName: "steward.fail",
    tenantId: actor.tenantId,
    error: "no luck at https://user:[redacted]@example.test/",
  };
  const lines = linesOf(t.logs, id).map(({ time: _, traceId, ...line }) => {
    assert.match(traceId, /^[0-9a-f]{32}$/);
    return line;
  });
  assert.deepEqual(lines, [
    { level: "info", message: "a job attempt failed; the job is retried", ...about, attempt: 1 },
    { level: "warn", message: "a job was dead-lettered", ...about, attempt: 2 },
  ]);
});

Deno.test("a succeeded job writes no line; a job dead-lettered with its worker writes one", async () => {
  const actor = await t.actor();
  const { id } =
    (await actor.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "{}" })).body;
  await t.settled(id);
  assert.deepEqual(linesOf(t.logs, id), []);
  const { platform } = t.steward;
  const lost = newId();
  await platform.sql`
    insert into jobs (id, job_type_name, serialized_args, type, status, priority, queue, lane, due_at, attempts, max_retries,
      worker_id, started_at, lost_leases)
    values (${lost}, 'steward.echo', '{}', 'FireAndForget', 'Processing', 2, 'default', 'default||', now(), 3, 0,
      ${newId()}, now(), 1)`;
  await recoverLostJobs(platform.sql, 60, platform.jobTypes);
  const [line, ...more] = linesOf(t.logs, lost);
  assert.deepEqual([line.level, line.attempt, more.length], ["warn", 3, 0]);
  assert.match(line.error, /did not renew its lease/);
});

Deno.test("of thousands of failures in a second, 20 of each kind are logged and the others are counted", () => {
  const lines: { level: string; message: string; jobId?: string; count?: number }[] = [];
  const failures = new FailureLog(createLog("debug", (line) => lines.push(JSON.parse(line))));
  const attempt = endedAttempt({ jobTypeName: "steward.fail", outcome: "Failed", error: "no" });
  for (let n = 0; n < 5; n++) failures.write(Array.from({ length: 500 }, () => attempt));
  failures.write([{ ...attempt, outcome: "DeadLettered" }, { ...attempt, outcome: "Postponed" }]);
  assert.equal(lines.length, 21);
  failures.flush();
  assert.deepEqual(lines.slice(21).map(({ level, message, count }) => [level, message, count]), [
    ["info", "further failed attempts of jobs were left out of the log", 2_480],
  ]);
  failures.write([attempt]);
  assert.equal(lines.length, 23, "the limit starts again each second");
  failures.flush();
  assert.equal(lines.length, 23);
});
