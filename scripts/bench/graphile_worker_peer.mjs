// Baseline of the job benchmarks: graphile-worker with a local queue and batched completion. Runs under Node or Deno.
// Prints the result as one line of JSON.
// Arguments: database URL, and one of: drain COUNT QUEUE_SIZE CONCURRENCY; add COUNT; latency COUNT.
import { Logger, makeWorkerUtils, run } from "graphile-worker";

const [connectionString, what] = process.argv.slice(2);
const [count, size = 500, concurrentJobs = 24] = process.argv.slice(4).map(Number);
const preset = {
  worker: {
    connectionString,
    logger: new Logger(() => () => {}),
    maxPoolSize: 20,
    concurrentJobs,
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    localQueue: { size, refetchDelay: { durationMs: 10 } },
    pollInterval: 2000,
  },
};
const utils = await makeWorkerUtils({ preset });
await utils.migrate();
const countJobs = () =>
  utils.withPgClient(async (client) => {
    const { rows } = await client.query("select count(*)::int as n from graphile_worker.jobs");
    return rows[0].n;
  });

/** Jobs per second, until the last row is gone. */
async function drain() {
  await utils.withPgClient((client) =>
    client.query(
      "select graphile_worker.add_jobs(array(select json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', 'noop', 'payload', json_build_object('n', i))) from generate_series(1, $1::int) i))",
      [count],
    )
  );
  let done = 0;
  const { promise: finished, resolve: allDone } = withResolvers();
  const started = performance.now();
  const noop = () => void (++done === count && allDone());
  const runner = await run({ preset, noHandleSignals: true, taskList: { noop } });
  await finished;
  while (await countJobs() > 0);
  const seconds = (performance.now() - started) / 1000;
  await runner.stop();
  if (done !== count) throw new Error(`${done} jobs ran; expected ${count}`);
  return count / seconds;
}

/** Single adds per second, 20 at a time. */
async function add() {
  const before = await countJobs();
  const started = performance.now();
  let next = 0;
  await Promise.all(Array.from({ length: 20 }, async () => {
    while (next++ < count) await utils.addJob("noop", { n: next });
  }));
  const seconds = (performance.now() - started) / 1000;
  const added = await countJobs() - before;
  if (added !== count) throw new Error(`${added} jobs were added; expected ${count}`);
  return count / seconds;
}

/** Times in ms from the committed add to the start of the task, one at a time on an idle worker. */
async function latency() {
  const latencies = [];
  let begin;
  const probe = () => begin(performance.now());
  const idle = await run({ preset, noHandleSignals: true, taskList: { noop() {}, probe } });
  for (let n = 0; n < count + 50; n++) {
    const { promise: begun, resolve } = withResolvers();
    begin = resolve;
    await utils.addJob("probe", {});
    const committed = performance.now();
    const at = await begun;
    if (n >= 50) latencies.push(Math.max(0, at - committed));
    await new Promise((resolve) => setTimeout(resolve, 2)); // the job settles, so that the worker is idle
  }
  await idle.stop();
  return latencies;
}

/** Node 20 has no Promise.withResolvers. */
function withResolvers() {
  let resolve;
  const promise = new Promise((settle) => resolve = settle);
  return { promise, resolve };
}

console.log(JSON.stringify(await { drain, add, latency }[what]()));
await utils.release();
process.exit(0);
