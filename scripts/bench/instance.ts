import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type BenchSetup, residentMegabytes } from "./bench_setup.ts";
import { measure, report } from "./compare.ts";

/** Time from process start to ready on a migrated database, as in a container restart. */
export async function startUp(setup: BenchSetup): Promise<void> {
  await measure({
    name: "from start to ready",
    unit: " ms",
    run: () => startOnce(setup), // the warm-up also creates the administrator
    max: 1_000,
  });
  console.log(`    load average ${Deno.loadavg()[0]}`);
}

/** Processor time that the extension of scripts/example adds to the start; the time to ready varies more than that. */
export async function startUpExtension(setup: BenchSetup): Promise<void> {
  const example = { STEWARD_EXTENSIONS: join(import.meta.dirname ?? ".", "../example/mod.ts") };
  await measure({
    name: "processor time that an extension adds to the start",
    unit: " ms",
    async run() {
      const without = await startOnce(setup);
      const withExample = await startOnce(setup, example);
      const value = withExample.processorMs - without.processorMs;
      return { value, note: `ready after ${withExample.value} ms against ${without.value} ms` };
    },
    rounds: 7,
    max: 100,
  });
  console.log(`    load average ${Deno.loadavg()[0]}`);
}

async function startOnce(setup: BenchSetup, env?: Record<string, string>) {
  const started = performance.now();
  const service = await setup.startService(env);
  const value = Math.round(performance.now() - started);
  const processorMs = await readProcessorMs(service.pid);
  await service.stop();
  return { value, processorMs, note: `${processorMs} ms processor time of all threads` };
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
async function readProcessorMs(pid: number): Promise<number> {
  const fields = (await Deno.readTextFile(`/proc/${pid}/stat`)).split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
