import { type Ground, median, tell } from "./ground.ts";

const ROUNDS = 3;

/** From nothing to ready on a migrated database, as a container's restart: the process, its code, its connections. */
export async function startUp(ground: Ground): Promise<void> {
  const times: number[] = [];
  const worked: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const started = performance.now();
    const service = await ground.startService();
    const waited = Math.round(performance.now() - started);
    const processor = await processorMs(service.pid);
    if (round > 0) { // the first one makes the administrator
      times.push(waited);
      worked.push(processor);
    }
    await service.stop();
  }
  tell("from start to ready", median(times), " ms", { most: 1_000 });
  tell("processor time it took, in all threads", median(worked), " ms");
  console.log(`    rounds: ${times.join(", ")} ms, load average ${Deno.loadavg()[0]}`);
}

/** User and system time of a process; the kernel counts in hundredths of a second. */
async function processorMs(pid: number): Promise<number> {
  const fields = (await Deno.readTextFile(`/proc/${pid}/stat`)).split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
