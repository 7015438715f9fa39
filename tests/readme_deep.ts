import assert from "node:assert/strict";
import config from "../deno.json" with { type: "json" };
import { runScript } from "./support/run_script.ts";

Deno.test("every script of a task answers --help", async () => {
  const scripts = Object.values<string>(config.tasks).flatMap((task) =>
    /scripts\/([\w-]+)\.ts/.exec(task)?.[1] ?? []
  );
  for (const script of scripts) {
    const { code, out } = await runScript(script, ["--help"]);
    assert.equal(code, 0, script);
    assert.match(out, /^Usage:/, script);
  }
});
