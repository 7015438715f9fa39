import { join } from "node:path";
import { startDeno } from "../shared/child_process.ts";

export interface TourService {
  url: string;
  /** True when the tour started it. */
  isOurs: boolean;
  stop(): Promise<void>;
}

/** Uses the service at STEWARD_URL or on the default port if it answers, else starts one in a temporary folder. */
export async function openService(): Promise<TourService> {
  const given = Deno.env.get("STEWARD_URL");
  const url = given ?? "http://127.0.0.1:8000";
  if (await answers(url, given ? 15_000 : 2_000)) {
    return { url, isOurs: false, stop: () => Promise.resolve() };
  }
  if (given) throw new Error(`no service answers at ${given}`);
  return await startOwn();
}

async function answers(url: string, timeoutMs: number): Promise<boolean> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(timeoutMs) });
    const body = await response.json();
    return typeof body.checks === "object";
  } catch {
    return false; // no server, or a different one
  }
}

async function startOwn(): Promise<TourService> {
  const folder = await Deno.makeTempDir({ prefix: "steward-tour-" });
  const main = join(import.meta.dirname ?? ".", "..", "..", "main.ts");
  const env = { DATA_DIR: folder, PORT: "0", STEWARD_ENV: "development" };
  const service = await startDeno([main], env, /steward ready on (\S+)\n/);
  return {
    url: service.found,
    isOurs: true,
    async stop() {
      await service.stop();
      await Deno.remove(folder, { recursive: true });
    },
  };
}
