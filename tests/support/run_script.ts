import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname ?? ".", "..", "..");

export interface ScriptResult {
  code: number;
  /** Standard output and standard error without white space at the ends. */
  out: string;
  err: string;
}

export interface ScriptOptions {
  /** Variables added to those of this process. */
  env?: Record<string, string>;
  /** Standard input of a process. */
  stdin?: string;
}

/**
 * Makes a folder that a script's process may read and write. Below /dev, where a run may have its temporary files, Deno
 * asks for all permissions, which the tasks do not have.
 */
export function makeScriptFolder(prefix: string): Promise<string> {
  const dir = Deno.env.get("TMPDIR")?.startsWith("/dev/") ? "/tmp" : undefined;
  return Deno.makeTempDir({ dir, prefix });
}

/** Ends the evaluation of a script in this process. */
class ScriptEnd {
  constructor(readonly code: number) {}
}

let runs = 0;

/**
 * Runs `scripts/<name>.ts` in this process, which takes a fraction of the time of a process of its own: its module is
 * evaluated once more, with other arguments, variables, console and exit. Only one script can run at a time.
 */
export async function runScript(name: string, args: string[], o: ScriptOptions = {}): Promise<ScriptResult> {
  const [out, err]: [string[], string[]] = [[], []];
  const { log, error } = console;
  const { args: own, exit } = Deno;
  const setArguments = (value: string[]) => {
    Object.defineProperty(Deno, "args", { value, configurable: true, enumerable: true });
    process.argv.splice(2, Infinity, ...value);
  };
  const former = Object.keys(o.env ?? {}).map((name) => [name, Deno.env.get(name)] as const);
  for (const [name, value] of Object.entries(o.env ?? {})) Deno.env.set(name, value);
  setArguments(args);
  const end = (code = Deno.exitCode): never => {
    throw new ScriptEnd(code);
  };
  Object.assign(Deno, { exit: end });
  Object.assign(console, {
    log: (text: unknown) => out.push(String(text)),
    error: (text: unknown) => err.push(String(text)),
  });
  const pending = setTimeout(() => {}, 60_000); // otherwise Deno warns that nothing but the import is pending
  let code: number;
  try {
    await import(`${pathToFileURL(join(ROOT, "scripts", `${name}.ts`))}?run=${++runs}`);
    code = Deno.exitCode;
  } catch (error) {
    if (!(error instanceof ScriptEnd)) throw error;
    code = error.code;
  } finally {
    clearTimeout(pending);
    Deno.exitCode = 0;
    Object.assign(console, { log, error });
    Object.assign(Deno, { exit });
    setArguments(own);
    for (const [name, value] of former) {
      value === undefined ? Deno.env.delete(name) : Deno.env.set(name, value);
    }
  }
  return { code, out: out.join("\n").trim(), err: err.join("\n").trim() };
}

/** Runs the script of a task in a process, in the repository's folder and with the permissions of the task. */
export async function runScriptProcess(
  task: string,
  args: string[],
  o: ScriptOptions = {},
): Promise<ScriptResult> {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json")));
  const [, run = "", ...options] = tasks[task].split(" ");
  const script = new Deno.Command(Deno.execPath(), {
    args: [run, "--no-check", "--node-modules-dir=manual", "--no-lock", "--no-prompt", ...options, ...args],
    cwd: ROOT,
    env: o.env,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = script.stdin.getWriter();
  await writer.write(new TextEncoder().encode(o.stdin ?? "")).catch(() => {}); // the script may have ended
  await writer.close().catch(() => {});
  const { code, stdout, stderr } = await script.output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout).trim(), err: decoder.decode(stderr).trim() };
}
