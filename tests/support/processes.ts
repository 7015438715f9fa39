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
