import assert from "node:assert/strict";
import { join } from "node:path";
import { newId } from "../../domain/shared/ids.ts";
import { generateTokenKey } from "../../infra/signing_keys.ts";
import { createTokens } from "../../infra/tokens.ts";
import { VERSION } from "../../infra/version.ts";
import { setup } from "../support/setup.ts";

const here = import.meta.dirname ?? ".";
const packed = `steward-client-${VERSION}.tgz`;

async function run(program: string, args: string[], cwd: string): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args, cwd, stdin: "null" }).output();
  const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert.ok(success, `${program} ${args.join(" ")} failed:\n${output}`);
  return output;
}

async function hasNode(): Promise<boolean> {
  try {
    for (const program of ["node", "npm"]) {
      const { success } = await new Deno.Command(program, { args: ["--version"] }).output();
      if (!success) return false;
    }
    return true;
  } catch {
    return false;
  }
}

Deno.test({
  name: "the packed client installs in Node without a network, and runs the tour's steps" +
    " (ignored where node or npm is missing)",
  ignore: !await hasNode(),
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "steward-client-test-" });
    const building = run(
      Deno.execPath(),
      ["run", "-A", join(here, "../../scripts/build-client.ts"), join(folder, "made", "for it")],
      here,
    );
    const key = await generateTokenKey();
    const [t] = await Promise.all([setup({ TOKEN_KEYS: JSON.stringify([key]) }), building]);
    const anHourAgo = await createTokens({
      keys: [key],
      issuer: () => t.url,
      audience: "steward",
      clock: { now: () => new Date(Date.now() - 3_600_000) },
    });
    const expired = await anHourAgo.sign({ sub: newId(), sid: newId(), tenantId: null, ver: 1 });
    try {
      await Deno.writeTextFile(join(folder, "package.json"), `{ "private": true, "type": "module" }`);
      await run(
        "npm",
        ["install", "--offline", "--no-audit", "--no-fund", `./made/for it/${packed}`],
        folder,
      );
      await Deno.copyFile(join(here, "client", "scenario.mjs"), join(folder, "scenario.mjs"));
      assert.match(await run("node", ["scenario.mjs", t.url, expired], folder), /all steps passed/);
    } finally {
      await t.stop();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
