// Checks that reports and jobs give an outsider nothing of another tenant.
import assert from "node:assert/strict";
import type { Actor } from "./setup.ts";
import { namer, revealsNothing, tracesOf, victimsRows, type World } from "./isolation.ts";
import { until } from "./until.ts";

const CSV = 3;

/** Checks that the victim's document shows a text of the victim, and the outsider's with the same parameters none. */
export async function reportKeepsFromOutsider(
  world: World,
  templateId: string,
  parameters: Record<string, unknown>,
): Promise<void> {
  const { victim, outsider } = world;
  const theirs = await generated(world, victim, templateId, parameters);
  const shown = tracesOf(world).some((trace) => theirs.includes(trace));
  assert.ok(shown, `the victim's document shows none of its rows; create them with objects: ${theirs}`);
  const own = await generated(world, outsider, templateId, parameters);
  const revealed = tracesOf(world).filter((trace) => own.includes(trace));
  assert.deepEqual(revealed, [], `the outsider's document reveals ${revealed}: ${own.slice(0, 2000)}`);
}

/** The document as CSV, after its last job has ended: later checks compare the rows of the caller's tenant. */
async function generated(
  { sql }: World,
  by: Actor,
  templateId: string,
  parameters: Record<string, unknown>,
): Promise<string> {
  const { status, body } = await by.post("/api/v1/reports/generate", { templateId, format: CSV, parameters });
  assert.equal(status, 201, JSON.stringify(body));
  const download = await until(
    () => by.get(`/api/v1/reports/${body.id}/download`),
    ({ status }) => status === 200,
  );
  await until(async () => {
    const running = await sql`
      select from jobs where job_type_name = 'steward.report-deliver' and completed_at is null
        and serialized_args like ${`%${body.id}%`}`;
    return running.length === 0;
  });
  return await (await fetch(download.body.url)).text();
}

/** Checks that a job which the outsider enqueues shows nothing of the victim and changes none of its rows. */
export async function jobKeepsFromOutsider(
  world: World,
  settled: (jobId: string) => Promise<string>,
  jobTypeName: string,
  argsOf: (id: (kind: string) => string) => unknown,
): Promise<void> {
  const { outsider, ids } = world;
  const { id, used } = namer(ids);
  const serializedArgs = JSON.stringify(argsOf(id));
  const before = await victimsRows(world, used);
  const { status, body: job } = await outsider.post("/api/v1/jobs", {
    jobTypeName,
    serializedArgs,
    maxRetries: 0,
  });
  assert.equal(status, 201, JSON.stringify(job));
  await settled(job.id);
  for (const path of [`/api/v1/jobs/${job.id}`, `/api/v1/jobs/${job.id}/executions`]) {
    revealsNothing(world, await outsider.get(path), used);
  }
  assert.deepEqual(await victimsRows(world, used), before, "nothing of the victim's was changed");
}
