// Runs the examples of tests of a product: in Deno, and in Node and Python by a process.
import assert from "node:assert/strict";
import { join } from "node:path";
import { succeeds } from "../../support/processes.ts";

const ROOT = join(import.meta.dirname ?? ".", "..", "..", "..");
const EXAMPLES = join(ROOT, "scripts", "testing", "examples");
const hasNpx = await succeeds("npx", "--version");
const hasVitest = hasNpx && await succeeds("npm", "view", "vitest@5.1.2", "version");
const hasPython = hasNpx && await succeeds("python3", "--version");

async function run(cwd: string, program: string, ...args: string[]): Promise<string> {
  const env = { STEWARD: ROOT, NO_COLOR: "1" };
  const { success, stdout, stderr } = await new Deno.Command(program, { args, cwd, env, stdin: "null" })
    .output();
  const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.ok(success, `${program} ${args.join(" ")} failed:\n${output}`);
  return output;
}

async function inFolder(files: string[], work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "steward-examples-" });
  try {
    for (const file of files) await Deno.copyFile(file, join(folder, file.split("/").at(-1) ?? ""));
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("the example of a product's test runs in Deno", async () => {
  const test = join(EXAMPLES, "reminder_test.ts");
  assert.match(await run(ROOT, Deno.execPath(), "test", "-P", "--no-check", test), /1 passed/);
});

Deno.test({
  name:
    "the example of a product's test runs in Node with vitest (ignored where npx or the registry is missing)",
  ignore: !hasVitest,
  fn: () =>
    inFolder([join(EXAMPLES, "reminder.test.mjs")], async (folder) => {
      assert.match(await run(folder, "npx", "-y", "vitest@5.1.2", "run"), /1 passed/);
    }),
});

Deno.test({
  name: "the example of a product's test runs in Python's unittest (ignored where python3 or npx is missing)",
  ignore: !hasPython,
  fn: () =>
    inFolder([
      join(EXAMPLES, "test_reminder.py"),
      join(ROOT, "scripts", "client", "workers", "python", "steward_worker.py"),
    ], async (folder) => {
      assert.match(await run(folder, "python3", "-m", "unittest", "test_reminder"), /OK/);
    }),
});
