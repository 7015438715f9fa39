import { join } from "node:path";

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
    return {
      url,
      isOurs: false,
      stop: () => Promise.resolve(),
    };
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
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", join(import.meta.dirname ?? ".", "..", "..", "main.ts")],
    env: { DATA_DIR: folder, PORT: "0", STEWARD_ENV: "development" },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let output = "";
  const ready = Promise.withResolvers<string>();
  child.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write(text) {
        output += text;
        const url = /steward ready on (\S+)/.exec(output)?.[1];
        if (url) ready.resolve(url);
      },
    }),
  );
  child.status.then(({ code }) =>
    ready.reject(new Error(`the service ended with code ${code} before it was ready`))
  );
  return {
    url: await ready.promise,
    isOurs: true,
    async stop() {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}
