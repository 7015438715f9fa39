// A further instance of the service in its own process. It reports to the test as JSON lines on standard output, and ends
// when its standard input closes, so that it cannot outlive the test.
import type { SettledJob } from "../../domain/jobs/settle.ts";
import { processEnv, readConfig } from "../../infra/config.ts";
import { createLog } from "../../infra/log.ts";
import { startSteward } from "../../main.ts";

/** What an instance reports: its URL when it is ready, a line of its log, or jobs it has settled. */
interface Told {
  url?: string;
  log?: string;
  settled?: SettledJob[];
}

export interface InstanceProcess {
  url: string;
  stop(): Promise<void>;
}

/** Starts an instance configured by `env` and resolves when it accepts requests. */
export async function startInstanceProcess(
  env: Record<string, string>,
  heard: { log: (line: string) => void; settled: (jobs: SettledJob[]) => void },
): Promise<InstanceProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", import.meta.filename ?? ""],
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const ready = Promise.withResolvers<string>();
  let rest = "";
  const reading = child.stdout.pipeThrough(new TextDecoderStream()).pipeTo(
    new WritableStream({
      write(text) {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          const told: Told = JSON.parse(line);
          if (told.log) heard.log(told.log);
          if (told.settled) heard.settled(told.settled);
          if (told.url) ready.resolve(told.url);
        }
      },
    }),
  );
  const ended = Promise.all([child.status, reading]).then(([{ code }]) => {
    ready.reject(new Error(`an instance ended with code ${code}`));
  });
  return {
    url: await ready.promise,
    async stop() {
      await child.stdin.close();
      await ended;
    },
  };
}

function tell(told: Told): void {
  let bytes = new TextEncoder().encode(`${JSON.stringify(told)}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}

async function run(): Promise<void> {
  const steward = await startSteward(readConfig(processEnv()), {
    log: createLog("debug", (log) => tell({ log })),
    checkAnswers: true,
    onSettled: (settled) => tell({ settled }),
  });
  tell({ url: steward.url });
  for await (const _ of Deno.stdin.readable);
  await steward.stop(2_000);
  Deno.exit(0);
}

if (import.meta.main) await run();
