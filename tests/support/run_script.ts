import { join } from "node:path";

const ROOT = join(import.meta.dirname ?? ".", "..", "..");

export interface ScriptResult {
  code: number;
  /** Standard output and standard error without white space at the ends. */
  out: string;
  err: string;
}

/**
 * Runs `scripts/<name>.ts` in the repository's folder and waits for its end.
 * @param o.permissions options of `deno run`; default: all permissions
 * @param o.env variables added to those of this process
 */
export async function runScript(
  name: string,
  args: string[],
  o: { permissions?: string[]; env?: Record<string, string>; stdin?: string } = {},
): Promise<ScriptResult> {
  const script = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-check",
      "--node-modules-dir=manual",
      "--no-lock",
      "--no-prompt",
      ...o.permissions ?? ["--allow-all"],
      join(ROOT, "scripts", `${name}.ts`),
      ...args,
    ],
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
