// Baseline of the drain benchmark: pg-boss with batches of 500. Prints the jobs per second.
import PgBoss from "pg-boss";

const [connectionString, count] = [process.argv[2], Number(process.argv[3])];
const boss = new PgBoss({ connectionString, max: 10 });
boss.on("error", (error) => console.error(error));
await boss.start();
const queue = `noop-${Date.now()}`;
await boss.createQueue(queue);
for (let from = 0; from < count; from += 5_000) {
  await boss.insert(
    Array.from({ length: Math.min(5_000, count - from) }, (_, n) => ({ name: queue, data: { n: from + n } })),
  );
}
let done = 0;
const started = performance.now();
await new Promise((resolve) => {
  for (let worker = 0; worker < 4; worker++) {
    boss.work(queue, { batchSize: 500, pollingIntervalSeconds: 0.5 }, (jobs) => {
      done += jobs.length;
      if (done >= count) resolve();
      return Promise.resolve();
    });
  }
});
console.log(count / (performance.now() - started) * 1000);
process.exit(0);
