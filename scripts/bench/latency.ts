import { z } from "zod";
import { defineJob, JobTypes } from "../../domain/jobs/job_type.ts";
import { JobWriter } from "../../domain/jobs/job_writer.ts";
import { Worker } from "../../domain/jobs/worker.ts";
import type { Platform } from "../../domain/shared/platform.ts";
import { createLog } from "../../infra/log.ts";
import { runGraphileWorker } from "./drain.ts";
import { type BenchSetup, printResult, rounded } from "./bench_setup.ts";
import { mainPool } from "../../infra/postgres/postgres.ts";

const PROBES = 400;
const WARM_UP = 50;

/** Time from the committed enqueue to the start of the job, one job at a time on an idle worker. */
export async function latency(setup: BenchSetup): Promise<void> {
  const { sql } = setup;
  let reportStart: (at: number) => void = () => {};
  const types = new JobTypes();
  types.register(defineJob({
    name: "bench.probe",
    args: z.object({}),
    run: () => {
      reportStart(performance.now());
      return Promise.resolve(undefined);
    },
  }));
  const worker = await Worker.start({
    platform: { sql } as Platform, // the job type uses no other member
    sql,
    types,
    log: createLog("warn"),
    host: "bench",
    concurrency: 20,
    queues: null,
    pollMs: 2_000,
  });
  const writer = new JobWriter(mainPool(sql));
  const latencies: number[] = [];
  for (let n = 0; n < WARM_UP + PROBES; n++) {
    const started = new Promise<number>((resolve) => reportStart = resolve);
    await writer.write(sql, [{ jobTypeName: "bench.probe", serializedArgs: "{}", maxRetries: 0 }]);
    const committed = performance.now();
    worker.wake(); // as the service does after a commit
    const at = await started;
    if (n >= WARM_UP) latencies.push(at - committed);
    await new Promise((resolve) => setTimeout(resolve, 2)); // the attempt settles, so that the worker is idle
  }
  await worker.stop(1_000);
  latencies.sort((a, b) => a - b);
  const at = (share: number) => rounded(latencies[Math.floor(latencies.length * share)] ?? 0);
  const peer = await runGraphileWorker(setup);
  printResult("commit to start when idle, median", at(0.5), " ms", { max: 2 });
  printResult("commit to start when idle, p99", at(0.99), " ms", { max: 15 });
  console.log(`    graphile-worker: median ${peer.latencyP50} ms, p99 ${peer.latencyP99} ms`);
}
