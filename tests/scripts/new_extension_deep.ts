import assert from "node:assert/strict";
import { join } from "node:path";
import { run } from "../support/processes.ts";
import { makeScriptFolder, runScriptProcess } from "../support/run_script.ts";

// Below /dev, where a run may have its temporary files, Deno asks for all permissions, which the task does not have.
const folder = await makeScriptFolder("steward-new-extension-");
Deno.test.afterAll(() => Deno.remove(folder, { recursive: true }));
const target = join(folder, "time_tracking");

const deno = (...args: string[]) => run(Deno.execPath(), args, { cwd: target });

Deno.test("new-extension writes an extension outside of the checkout that passes its type check and its tests", async () => {
  const made = await runScriptProcess("new-extension", ["time_tracking", target]);
  assert.equal(made.code, 0, made.err);
  const text = await Deno.readTextFile(join(target, "mod.ts"));
  assert.match(text, /name: "time_tracking"/);
  assert.doesNotMatch(text, /sample/i);
  await deno("check", ".");
  await deno("test", "-P", "--no-check", "time_tracking_test.ts");
  await deno("fmt", "--check", "--ignore=node_modules");
});

Deno.test("new-extension refuses a bad name and an existing folder, and writes nothing", async () => {
  const parent = join(folder, "other");
  for (const name of ["Notes", "a", "time-tracking", "2pg", "a".repeat(32)]) {
    const { code, err } = await runScriptProcess("new-extension", [name, parent]);
    assert.equal(code, 64);
    assert.match(err, /^"[^"]+": expected a name of 2 to 31 lower-case letters, digits and underscores/);
  }
  await assert.rejects(Deno.stat(parent), Deno.errors.NotFound);
  const { code, err } = await runScriptProcess("new-extension", ["notes", folder]);
  assert.deepEqual([code, err], [1, `${folder} exists; name a folder that does not exist`]);
});
