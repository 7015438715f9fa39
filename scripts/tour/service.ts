import { join } from "node:path";

export interface ToldService {
  url: string;
  /** True when the tour started it. */
  isOurs: boolean;
  stop(): Promise<void>;
}

/** The service at STEWARD_URL or on the default port when one answers there, else a new one in a temporary folder. */
export async function reachService(): Promise<ToldService> {
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

async function answers(url: string, patienceMs: number): Promise<boolean> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(patienceMs) });
    const body = await response.json();
    return typeof body.checks === "object";
  } catch {
    return false; // nobody there, or somebody else
  }
}

async function startOwn(): Promise<ToldService> {
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
