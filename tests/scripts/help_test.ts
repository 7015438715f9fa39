import assert from "node:assert/strict";
import { join } from "node:path";
import { runScript, runScriptProcess } from "../support/run_script.ts";

const folder = join(import.meta.dirname ?? ".", "..", "..", "scripts");
const scripts = Array.from(Deno.readDirSync(folder), ({ name }) => name)
  .filter((name) => name.endsWith(".ts"))
  .map((name) => name.slice(0, -".ts".length));

/** The database does not answer: a script that connects before it reads its arguments fails. */
const env = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/nowhere" };

for (const script of scripts.toSorted()) {
  Deno.test(`${script} shows its usage with an example, and rejects unknown options`, async () => {
    const run = script === "scan-secrets" ? runScriptProcess : runScript;
    const help = await run(script, ["--help"], { env });
    assert.equal(help.code, 0, help.err);
    assert.match(help.out, /^Usage: .*deno task /);
    assert.match(help.out, /^Example: .*deno task /m);
    assert.match(help.out, /^Exit code 0 /m);
    const odd = await run(script, ["--no-such-option"], { env });
    assert.equal(odd.code, 64, odd.out);
    assert.equal(odd.out, "");
    assert.match(odd.err, /^Usage: /m);
  });
}
