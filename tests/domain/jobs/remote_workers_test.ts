import { RemoteWorkers } from "../../../domain/jobs/remote/remote_workers.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const { sql, log } = t.steward.platform;

Deno.test("workers are listed while new ones keep calling", async () => {
  const workers = new RemoteWorkers({ sql, log, waiting: () => [] });
  const first = newId();
  workers.called(first, { name: "first", program: null });
  const others = setInterval(() => workers.called(newId(), { name: "other", program: null }), 10);
  try {
    await until(() => sql`select from job_workers where id = ${first}`, (rows) => rows.length === 1, {
      withinMs: 3_000,
      what: "a worker that is listed",
    });
  } finally {
    clearInterval(others);
    workers.stop();
  }
});
