// Runs the examples of tests of a product.
import assert from "node:assert/strict";
import { join } from "node:path";
import { run, succeeds } from "../../support/processes.ts";

const ROOT = join(import.meta.dirname ?? ".", "..", "..", "..");
const EXAMPLES = join(ROOT, "scripts", "testing", "examples");
const hasNpm = await succeeds("npm", "view", "vitest@5.1.2", "version");
const hasPython = hasNpm && await succeeds("python3", "--version");

const runIn = (cwd: string, program: string, ...args: string[]) =>
  run(program, args, { cwd, env: { STEWARD: ROOT, NO_COLOR: "1" } });

async function onCopyOf(example: string, work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "steward-example-" });
  try {
    for await (const { name } of Deno.readDir(join(EXAMPLES, example))) {
      await Deno.copyFile(join(EXAMPLES, example, name), join(folder, name));
    }
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("the example of a product's test runs in Deno, set up as its README says", () =>
  onCopyOf("deno", async (folder) => {
    const readme = await Deno.readTextFile(join(folder, "README.md"));
    const config = /<<END\n(.*?)END\n/s.exec(readme)?.[1]?.replace("$STEWARD", ROOT) ?? "";
    await Deno.writeTextFile(join(folder, "deno.json"), config);
    assert.match(await runIn(folder, Deno.execPath(), "test", "-A", "--no-check"), /1 passed/);
  }));

Deno.test({
  name:
    "the example of a product's test runs in Node with vitest (ignored where npm or its registry is missing)",
  ignore: !hasNpm,
  fn: () =>
    onCopyOf("node", async (folder) => {
      await runIn(folder, "npm", "install");
      assert.match(await runIn(folder, "npm", "test"), /1 passed/);
    }),
});

Deno.test({
  name: "the example of a product's test runs in Python's unittest (ignored where python3 or npm is missing)",
  ignore: !hasPython,
  fn: () =>
    onCopyOf("python", async (folder) => {
      assert.match(await runIn(folder, "python3", "-m", "unittest"), /OK/);
    }),
});
