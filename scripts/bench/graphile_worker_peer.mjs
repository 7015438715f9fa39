// Baseline of the job benchmarks: graphile-worker in its fastest documented mode (local queue, batched completion).
// Runs under Node or Deno. Prints the result as one line of JSON.
import { Logger, makeWorkerUtils, run } from "graphile-worker";

const [connectionString, count] = [process.argv[2], Number(process.argv[3])];
const logger = new Logger(() => () => {});
const preset = {
  worker: {
    connectionString,
    logger,
    maxPoolSize: 20,
    concurrentJobs: 24,
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
    pollInterval: 2000,
  },
};

const utils = await makeWorkerUtils({ preset });
await utils.migrate();
await utils.withPgClient((client) =>
  client.query(
    "select graphile_worker.add_jobs(array(select json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', 'noop', 'payload', json_build_object('n', i))) from generate_series(1, $1::int) i))",
    [count],
  )
);
let done = 0;
let allDone;
const finished = new Promise((resolve) => allDone = resolve);
const started = performance.now();
const runner = await run({
  preset,
  noHandleSignals: true,
  taskList: {
    noop() {
      if (++done === count) allDone();
    },
  },
});
await finished;
for (;;) {
  const { rows } = await utils.withPgClient((client) =>
    client.query("select count(*)::int as n from graphile_worker.jobs")
  );
  if (rows[0].n === 0) break;
}
const drainMs = performance.now() - started;
await runner.stop();

const adds = Math.min(count, 4000);
const addStarted = performance.now();
let next = 0;
await Promise.all(Array.from({ length: 20 }, async () => {
  while (next++ < adds) await utils.addJob("noop", { n: next });
}));
const addMs = performance.now() - addStarted;

// Idle latency: from the committed add to the task's start, one task at a time.
const latencies = [];
let startedAt;
const idle = await run({
  preset,
  noHandleSignals: true,
  taskList: {
    noop() {},
    probe() {
      startedAt?.(performance.now());
    },
  },
});
for (let n = 0; n < 220; n++) {
  const begun = new Promise((resolve) => startedAt = resolve);
  await utils.addJob("probe", {});
  const committed = performance.now();
  const at = await begun;
  if (n >= 20) latencies.push(Math.max(0, at - committed));
}
await idle.stop();
await utils.release();
console.log(
  JSON.stringify({ drainPerSecond: count / drainMs * 1000, addsPerSecond: adds / addMs * 1000, latencies }),
);
process.exit(0);
