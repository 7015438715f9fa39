import { setTimeout as delay } from "node:timers/promises";
import { type BenchSetup, residentMegabytes } from "./bench_setup.ts";
import { measure, report } from "./compare.ts";

/** Time from process start to ready on a migrated database, as in a container restart. */
export async function startUp(setup: BenchSetup): Promise<void> {
  await measure({
    name: "from start to ready",
    unit: " ms",
    // The warm-up also creates the administrator.
    async run() {
      const started = performance.now();
      const service = await setup.startService();
      const value = Math.round(performance.now() - started);
      const note = `${await processorMs(service.pid)} ms processor time of all threads`;
      await service.stop();
      return { value, note };
    },
    max: 1_000,
  });
  console.log(`    load average ${Deno.loadavg()[0]}`);
}

/** Memory of an instance before its first request and after a request for the API document. */
export async function idleMemory(setup: BenchSetup): Promise<void> {
  const { pid, port } = await setup.startService();
  await delay(5_000);
  report("resident memory of an idle instance", residentMegabytes(pid), " MB", { max: 150 });
  for (const path of ["/readyz", "/openapi.json", "/docs"]) {
    await (await fetch(`http://127.0.0.1:${port}${path}`)).text();
  }
  await delay(5_000);
  report("after a request for the API document", residentMegabytes(pid), " MB");
}

/** User and system time of a process in ms; the kernel counts in hundredths of a second. */
async function processorMs(pid: number): Promise<number> {
  const fields = (await Deno.readTextFile(`/proc/${pid}/stat`)).split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
