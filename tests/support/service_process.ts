// The whole service in its own process, for tests that need real processes.
import { join } from "node:path";
import { environmentOf, type TestService } from "./setup.ts";

/** A service that may not be ready yet. */
export interface SpawnedService {
  /** Its URL when it accepts requests. Rejects if it ends before. */
  ready: Promise<string>;
  pid: number;
  /** Its output so far. */
  output(): string;
  kill(signal: Deno.Signal): void;
  /** Resolves with the exit code. */
  ended: Promise<number>;
  /** Ends it, gracefully unless another signal is given. Does nothing if it has ended already. */
  stop(signal?: Deno.Signal): Promise<void>;
}

export type ServiceProcess = Omit<SpawnedService, "ready"> & { url: string };

interface ServiceOptions {
  /** The folder of another version of the repository. */
  root?: string;
  /** A command that runs it, such as `ip netns exec …`. */
  prefix?: string[];
  /** A module that runs before main.ts. */
  preload?: string;
  /** The arguments of Deno, if others than those for main.ts. */
  args?: string[];
}

const ROOT = join(import.meta.dirname ?? ".", "..", "..");

/** Starts main.ts and resolves when it accepts requests. */
export async function startServiceProcess(
  env: Record<string, string>,
  o: ServiceOptions = {},
): Promise<ServiceProcess> {
  const { ready, ...service } = spawnService({ LOG_LEVEL: "warn", ...env }, o);
  return { ...service, url: await ready };
}

/** Starts one more instance on the database and the objects of a service. Its data folder ends with it. */
export async function startBeside(t: TestService, env: Record<string, string> = {}): Promise<ServiceProcess> {
  const DATA_DIR = await Deno.makeTempDir({ prefix: "steward-test-" });
  const service = await startServiceProcess({ ...environmentOf(t), DATA_DIR, JOB_POLL_MS: "200", ...env });
  const ended = service.ended.finally(() => Deno.remove(DATA_DIR, { recursive: true }));
  const stop = async (signal?: Deno.Signal) => {
    await service.stop(signal);
    await ended;
  };
  return { ...service, ended, stop };
}

/** Starts main.ts. */
export function spawnService(env: Record<string, string>, o: ServiceOptions = {}): SpawnedService {
  const { root = ROOT } = o;
  const [command = "", ...before] = [...o.prefix ?? [], Deno.execPath()];
  const child = new Deno.Command(command, {
    args: [...before, ...o.args ?? argumentsOf(o)],
    cwd: root,
    env: { PORT: "0", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let output = "";
  const ready = Promise.withResolvers<string>();
  const reading = [child.stdout, child.stderr].map((stream) =>
    stream.pipeThrough(new TextDecoderStream()).pipeTo(
      new WritableStream({
        write(text) {
          output += text;
          const url = /^steward ready on (\S+)$/m.exec(output)?.[1];
          if (url) ready.resolve(url);
        },
      }),
    )
  );
  let hasEnded = false;
  const ended = Promise.all([child.status, ...reading]).then(([{ code }]) => {
    hasEnded = true;
    ready.reject(new Error(`the service ended with code ${code}:\n${output}`));
    return code;
  });
  ready.promise.catch(() => {}); // a caller may wait for the end only
  return {
    ready: ready.promise,
    pid: child.pid,
    output: () => output,
    kill: (signal) => child.kill(signal),
    ended,
    async stop(signal = "SIGTERM") {
      if (!hasEnded) child.kill(signal);
      await ended;
    },
  };
}

const argumentsOf = ({ root, preload }: ServiceOptions): string[] => [
  ...["run", "-A", "--no-check"],
  ...(root === undefined ? ["--node-modules-dir=manual"] : []), // without a check of all packages
  ...(preload ? ["--preload", preload] : []),
  join(root ?? ROOT, "main.ts"),
];

/** Signs in the first administrator; returns a token with admin:system. */
export async function signInAdministrator(url: string): Promise<string> {
  const response = await fetch(`${url}/api/v1/auth/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: "admin@steward.local", password: "steward-admin-dev" }),
  });
  const body = await response.json();
  if (response.status !== 200) {
    throw new Error(`sign-in answered ${response.status}: ${JSON.stringify(body)}`);
  }
  return body.accessToken;
}
