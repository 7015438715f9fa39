// A worker process of the two-process benchmark. Runs until SIGTERM.
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { startNoopWorker } from "./noop_jobs.ts";

const worker = await startNoopWorker(connectPostgres(Deno.args[0] ?? "", { max: 8 }), { pollMs: 50 });
Deno.addSignalListener("SIGTERM", async () => {
  await worker.stop(1_000);
  Deno.exit(0);
});
console.log("listening on 0");
