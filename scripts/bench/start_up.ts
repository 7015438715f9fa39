import { type BenchSetup, median, printResult } from "./bench_setup.ts";

const ROUNDS = 3;

/** Time from process start to ready on a migrated database, as in a container restart. */
export async function startUp(setup: BenchSetup): Promise<void> {
  const times: number[] = [];
  const processorTimes: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const started = performance.now();
    const service = await setup.startService();
    const elapsed = Math.round(performance.now() - started);
    const processor = await processorMs(service.pid);
    if (round > 0) { // the first start also creates the administrator
      times.push(elapsed);
      processorTimes.push(processor);
    }
    await service.stop();
  }
  printResult("from start to ready", median(times), " ms", { max: 1_000 });
  printResult("processor time, all threads", median(processorTimes), " ms");
  console.log(`    rounds: ${times.join(", ")} ms, load average ${Deno.loadavg()[0]}`);
}

/** User and system time of a process in ms; the kernel counts in hundredths of a second. */
async function processorMs(pid: number): Promise<number> {
  const fields = (await Deno.readTextFile(`/proc/${pid}/stat`)).split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
