import { dirname, join } from "node:path";

/** Copies the files of a working tree, without those that git ignores. */
async function copyTree(of: string, to: string, isWanted: (path: string) => boolean): Promise<void> {
  const args = ["-C", of, "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { stdout } = await new Deno.Command("git", { args }).output();
  for (const path of new Set(new TextDecoder().decode(stdout).split("\0"))) {
    if (path === "" || !isWanted(path)) continue;
    await Deno.mkdir(dirname(join(to, path)), { recursive: true });
    await Deno.copyFile(join(of, path), join(to, path)).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // deleted, but still in the index
    });
  }
}

/**
 * Copies the project with its packages, which become hard links if the file system allows it.
 * @param testsFrom the checkout whose tests are used
 */
export async function copyProject(root: string, to: string, testsFrom: string): Promise<void> {
  const isTest = (path: string) => path.startsWith("tests/");
  await copyTree(root, to, (path) => !isTest(path));
  await copyTree(testsFrom, to, isTest);
  const packages = join(root, "node_modules");
  const copy = (options: string) =>
    new Deno.Command("cp", { args: [options, packages, to], stderr: "null" }).output();
  if (!(await copy("-al")).success && !(await copy("-a")).success) {
    throw new Error(`${packages} cannot be copied to ${to}`);
  }
  await Deno.remove(join(to, "node_modules", ".cache"), { recursive: true }).catch(() => {});
}
