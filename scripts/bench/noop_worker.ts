// A worker process of the two-process benchmark. Runs until SIGTERM.
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { startNoopWorker } from "./noop_jobs.ts";

const url = Deno.args[0] ?? "";
const sql = connectPostgres(url, { max: 6 });
const engineSql = connectPostgres(url, { max: 2, work: "engine" });
const worker = await startNoopWorker({ sql, engineSql }, { pollMs: 50 });
Deno.addSignalListener("SIGTERM", async () => {
  await worker.stop(1_000);
  Deno.exit(0);
});
console.log("listening on 0");
