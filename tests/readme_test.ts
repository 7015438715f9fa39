import assert from "node:assert/strict";
import { join } from "node:path";
import { settingsTable } from "../scripts/config/table.ts";

const root = join(import.meta.dirname ?? ".", "..");

Deno.test("the README shows the settings as they are", async () => {
  const readme = await Deno.readTextFile(join(root, "README.md"));
  assert.ok(readme.includes(settingsTable()), "run `deno task config --readme`");
});

Deno.test("every task the README names exists, and every script of a task answers --help", async () => {
  const readme = await Deno.readTextFile(join(root, "README.md"));
  const { tasks } = JSON.parse(await Deno.readTextFile(join(root, "deno.json")));
  const named = new Set(
    Array.from(
      readme.matchAll(/(?:deno|deno@2\.9\.6) task (?:--\S+ )?([a-z-]+)/g),
      (match) => match[1] ?? "",
    ),
  );
  assert.deepEqual([...named].filter((name) => !(name in tasks)), []);
  const scripts = Object.values<string>(tasks).flatMap((task) => task.match(/scripts\/[\w-]+\.ts/) ?? []);
  await Promise.all(scripts.map(async (script) => {
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", join(root, script), "--help"],
    }).output();
    assert.equal(code, 0, script);
    assert.match(new TextDecoder().decode(stdout), /^Usage:/, script);
  }));
});
