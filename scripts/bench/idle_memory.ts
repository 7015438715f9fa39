import { type Ground, rounded, tell } from "./ground.ts";

const SETTLE_MS = 5_000;

/** What an instance holds that nobody speaks to, and what it holds after its first requests. */
export async function idleMemory(ground: Ground): Promise<void> {
  const service = await ground.startService();
  const resident = async () => {
    await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
    const status = await Deno.readTextFile(`/proc/${service.pid}/status`);
    return rounded(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  };
  tell("resident memory of an idle instance", await resident(), " MB", { most: 150 });
  for (const path of ["/readyz", "/openapi.json", "/docs"]) {
    await (await fetch(`http://127.0.0.1:${service.port}${path}`)).text();
  }
  tell("after the API's document was asked for", await resident(), " MB");
  await service.stop();
}
