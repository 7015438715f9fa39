export { isAlive } from "../../scripts/testing/database.ts";

/** Runs a command without showing its output. Returns whether it succeeded; false if it is not installed. */
export async function succeeds(command: string, ...args: string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(command, { args, stdout: "null", stderr: "null" }).output();
    return success;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Whether there is a file at this path. */
export function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Path of the first of these programs that is installed, in PATH or beside the daemons; undefined if none is. */
export function findProgram(...names: string[]): string | undefined {
  const folders = [
    ...(Deno.env.get("PATH") ?? "").split(":"),
    "/usr/bin",
    "/usr/local/bin",
    "/usr/sbin",
    "/usr/local/sbin",
  ];
  return names.flatMap((name) => folders.map((folder) => `${folder}/${name}`)).find(isFile);
}

/** Runs a program to its end. @returns what it printed @throws Error with that if the program fails */
export async function run(
  program: string,
  args: string[],
  o: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, stdin: "null", ...o }).output();
  const printed = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  if (!success) throw new Error(`${program} ${args.join(" ")} failed:\n${printed}`);
  return printed;
}

/** Starts a program, and does not read what it prints. */
export const startQuietly = (program: string, args: string[]): Deno.ChildProcess =>
  new Deno.Command(program, { args, stdin: "null", stdout: "null", stderr: "null" }).spawn();

/** True if a server on loopback accepts connections on this port. */
export async function listens(port: number): Promise<boolean> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port }).catch(() => null);
  connection?.close();
  return connection !== null;
}
