// One more instance of the service, in its own process. It sends reports to the test as JSON lines on standard output. It
// ends when its standard input closes, so it ends with the test.
import type { SettledJob } from "../../domain/jobs/job_row.ts";
import { processEnv, readConfig } from "../../infra/config.ts";
import { createLog } from "../../infra/log.ts";
import { startSteward } from "../../main.ts";

/** A report of an instance: its URL when it is ready, a line of its log, or settled jobs. */
interface Report {
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
  on: { log: (line: string) => void; settled: (jobs: SettledJob[]) => void },
): Promise<InstanceProcess> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--node-modules-dir=manual", import.meta.filename ?? ""],
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
          const report: Report = JSON.parse(line);
          if (report.log) on.log(report.log);
          if (report.settled) on.settled(report.settled);
          if (report.url) ready.resolve(report.url);
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

function send(report: Report): void {
  let bytes = new TextEncoder().encode(`${JSON.stringify(report)}\n`);
  while (bytes.length > 0) bytes = bytes.subarray(Deno.stdout.writeSync(bytes));
}

async function run(): Promise<void> {
  const steward = await startSteward(readConfig(processEnv()), {
    log: createLog("debug", (log) => send({ log })),
    checkAnswers: true,
    onSettled: (settled) => send({ settled }),
  });
  send({ url: steward.url });
  for await (const _ of Deno.stdin.readable);
  await steward.stop(2_000);
  Deno.exit(0);
}

if (import.meta.main) await run();
