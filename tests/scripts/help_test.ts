import assert from "node:assert/strict";
import { join } from "node:path";

const folder = join(import.meta.dirname ?? ".", "..", "..", "scripts");
const scripts = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".ts"));
const DATABASE_URL = "postgres://nobody@127.0.0.1:1/nowhere"; // whoever looks there before it reads its words tells so

async function run(script: string, ...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", join(folder, script), ...args],
    env: { DATABASE_URL },
    stdin: "null",
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  return { code, out: text(stdout), err: text(stderr) };
}

for (const script of scripts.toSorted()) {
  Deno.test(`${script} explains itself with an example, and refuses what it does not know`, async () => {
    const [help, odd] = await Promise.all([run(script, "--help"), run(script, "--no-such-option")]);
    assert.equal(help.code, 0, help.err);
    assert.match(help.out, /^Usage: .*deno task /);
    assert.match(help.out, /^Example: .*deno task /m);
    assert.match(help.out, /^Exit code 0 /m);
    assert.equal(odd.code, 64, odd.out);
    assert.equal(odd.out, "");
    assert.match(odd.err, /^Usage: /m);
  });
}
