// A worker in its own process, for tests that kill, freeze or drain it.
// Job types: `test.note {n, ms}` runs for `ms` and then writes a row with n; `test.note-start {n, ms}` also writes a row with
// 0 when it starts; `test.abortable {n, ms}` too, and its last row has -n if it was aborted.
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { defineJob, JobTypes } from "../../domain/jobs/job_type.ts";
import { jobWork, watchDueTimes } from "../../domain/jobs/instance/due_times.ts";
import { Worker } from "../../domain/jobs/engine/worker.ts";
import { createLog } from "../../infra/log.ts";
import { DatabaseClock } from "../../infra/postgres/database_clock.ts";
import { connectPostgres } from "../../infra/postgres/postgres.ts";
import { NO_PLATFORM } from "./job_context.ts";

/** Options of the process. */
export interface WorkerProcessOptions {
  databaseUrl: string;
  concurrency?: number;
  leaseSeconds?: number;
}

/** Starts a worker process and resolves when it is ready. */
export async function startWorkerProcess(o: WorkerProcessOptions): Promise<Deno.ChildProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--no-check",
      "--node-modules-dir=manual",
      import.meta.filename ?? "",
      JSON.stringify(o),
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  if (!new TextDecoder().decode(value).includes("working")) {
    throw new Error("the worker process did not start");
  }
  reader.releaseLock();
  child.stdout.pipeTo(new WritableStream()).catch(() => {}); // keeps the pipe from filling up; ends with the process
  return child;
}

async function work(o: WorkerProcessOptions): Promise<void> {
  const sql = connectPostgres(o.databaseUrl, { max: 5 });
  await sql`create table if not exists notes (n integer not null, pid integer not null, began timestamptz not null,
    ended timestamptz not null)`.catch(() => {}); // several processes may create it at once
  const note = async (n: number, began = new Date()): Promise<void> => {
    await sql`insert into notes (n, pid, began, ended) values (${n}, ${Deno.pid}, ${began}, ${new Date()})`;
  };
  const args = z.object({ n: z.number(), ms: z.number() });
  const types = new JobTypes();
  types.register(
    defineJob({
      name: "test.note",
      args,
      async run({ n, ms }) {
        const began = new Date();
        await pause(ms);
        await note(n, began);
        return { n };
      },
    }),
    defineJob({
      name: "test.note-start",
      args,
      async run({ n, ms }) {
        await note(0);
        await pause(ms);
        await note(n);
      },
    }),
    defineJob({
      name: "test.abortable",
      args,
      async run({ n, ms }, { signal }) {
        await note(0);
        const isAborted = await pause(ms, false, { signal }).catch(() => true);
        await note(isAborted ? -n : n);
      },
    }),
  );
  const clock = new DatabaseClock();
  await clock.start(sql);
  const log = createLog("error");
  const parts = { sql, types, jobTypes: types, clock, log, wakeUps: { at: () => worker.wake() } };
  const leaseSeconds = o.leaseSeconds ?? 60;
  const dueTimes = watchDueTimes(parts, jobWork(parts, leaseSeconds), 200);
  const worker = await Worker.start({
    platform: NO_PLATFORM,
    sql,
    types,
    log,
    host: "test",
    concurrency: o.concurrency ?? 10,
    queues: null,
    pollMs: 200,
    leaseSeconds,
  });
  Deno.addSignalListener("SIGTERM", async () => {
    await dueTimes.stop();
    await worker.stop(5_000);
    Deno.exit(0);
  });
  console.log("working");
}

if (import.meta.main) await work(JSON.parse(Deno.args[0] ?? "{}"));
