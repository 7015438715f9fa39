// Baseline of the drain benchmark: pg-boss in its fastest loop, without pauses between batches. Prints the jobs per second.
// Runs under Deno, because pg-boss needs a newer Node than many machines have.
import { PgBoss } from "pg-boss";

const [connectionString, count, batchSize, loops] = [process.argv[2], ...process.argv.slice(3).map(Number)];
const boss = new PgBoss({ connectionString, max: 10, supervise: false, schedule: false });
boss.on("error", (error) => console.error(error));
await boss.start();
const queue = `noop-${Date.now()}`;
await boss.createQueue(queue);
for (let from = 0; from < count; from += 5_000) {
  const size = Math.min(5_000, count - from);
  await boss.insert(queue, Array.from({ length: size }, (_, n) => ({ data: { n: from + n } })));
}
const started = performance.now();
await Promise.all(Array.from({ length: loops }, async () => {
  for (;;) {
    const jobs = await boss.fetch(queue, { batchSize });
    if (jobs.length === 0) return;
    await boss.complete(queue, jobs.map(({ id }) => id));
  }
}));
const rate = count / (performance.now() - started) * 1000;
const { rows: [{ n }] } = await boss.getDb().executeSql(
  "select count(*)::int as n from pgboss.job where name = $1 and state = 'completed'",
  [queue],
);
if (n !== count) throw new Error(`${n} jobs are completed; expected ${count}`);
console.log(rate);
process.exit(0);
