import assert from "node:assert/strict";
import { enqueueJob } from "../../../domain/jobs/enqueue.ts";
import type { JobType } from "../../../domain/jobs/job_type.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared({}, { inThisProcess: true });

/** The example of domain/jobs/README.md, as a module beside the job types that it imports. */
async function exampleOfReadme(): Promise<JobType<{ names: string[] }>> {
  const folder = new URL("../../../domain/jobs/", import.meta.url);
  const readme = await Deno.readTextFile(new URL("README.md", folder));
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
  const source = code.replace('"../jobs/job_type.ts"', `"${new URL("job_type.ts", folder)}"`)
    .replace('"zod"', `"${import.meta.resolve("zod")}"`);
  const { greet } = await import(`data:text/typescript,${encodeURIComponent(source)}`);
  return greet;
}

Deno.test("the example of the README is a job type that runs, logs, reports progress and returns an output", async () => {
  const greet = await exampleOfReadme();
  const { platform } = t.steward;
  for (const instance of t.instances) instance.platform.jobTypes.register(greet);
  const actor = await t.actor();
  const id = await transact(
    platform.sql,
    (tx) => enqueueJob(platform, tx, greet, { names: ["Ana", "Rui"] }, { tenantId: actor.tenantId }),
  );
  assert.equal(await t.settled(id), "Succeeded");
  const [execution] = (await actor.get(`/api/v1/jobs/${id}/executions`)).body.items;
  assert.equal(execution.output, '{"greeted":2}');
  assert.deepEqual([execution.progressPercent, execution.progressNote], [100, "Rui"]);
  const log = (await actor.get(`/api/v1/jobs/${id}/executions/1/log`)).body.items;
  assert.deepEqual(
    log.map((
      line: { level: string; message: string; fields: unknown },
    ) => [line.level, line.message, line.fields]),
    [
      ["info", "greeting", { name: "Ana", attempt: 1 }],
      ["info", "greeting", { name: "Rui", attempt: 1 }],
    ],
  );
  const byHttp = await actor.post("/api/v1/jobs", {
    jobTypeName: "example.greet",
    serializedArgs: '{"names":["Eva"]}',
  });
  assert.equal(await t.settled(byHttp.body.id), "Succeeded");
});
