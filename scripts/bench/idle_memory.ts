import { type BenchSetup, printResult, rounded } from "./bench_setup.ts";

const SETTLE_MS = 5_000;

/** Memory of an instance before its first request and after a request for the API document. */
export async function idleMemory(setup: BenchSetup): Promise<void> {
  const service = await setup.startService();
  const resident = async () => {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const status = await Deno.readTextFile(`/proc/${service.pid}/status`);
    return rounded(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  };
  printResult("resident memory of an idle instance", await resident(), " MB", { max: 150 });
  for (const path of ["/readyz", "/openapi.json", "/docs"]) {
    await (await fetch(`http://127.0.0.1:${service.port}${path}`)).text();
  }
  printResult("after a request for the API document", await resident(), " MB");
  await service.stop();
}
