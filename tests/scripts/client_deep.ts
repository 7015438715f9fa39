import assert from "node:assert/strict";
import { join } from "node:path";
import { newId } from "../../domain/shared/ids.ts";
import { generateTokenKey } from "../../infra/signing_keys.ts";
import { createTokens } from "../../infra/tokens.ts";
import { VERSION } from "../../infra/version.ts";
import { run, succeeds } from "../support/processes.ts";
import { setup } from "../support/setup.ts";

const here = import.meta.dirname ?? ".";
const packed = `steward-client-${VERSION}.tgz`;

const hasNode = await succeeds("node", "--version") && await succeeds("npm", "--version");

Deno.test({
  name: "the packed client installs in Node without a network, and its functions work there" +
    " (ignored where node or npm is missing)",
  ignore: !hasNode,
  async fn() {
    const folder = await Deno.makeTempDir({ prefix: "steward-client-test-" });
    const script = join(here, "../../scripts/build-client.ts");
    const building = run(Deno.execPath(), ["run", "-A", script, join(folder, "made", "for it")], {
      cwd: here,
    });
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
      const options = ["--offline", "--no-audit", "--no-fund"];
      await run("npm", ["install", ...options, `./made/for it/${packed}`], { cwd: folder });
      await Deno.copyFile(join(here, "client", "scenario.mjs"), join(folder, "scenario.mjs"));
      assert.match(await run("node", ["scenario.mjs", t.url, expired], { cwd: folder }), /all steps passed/);
    } finally {
      await t.stop();
      await Deno.remove(folder, { recursive: true });
    }
  },
});
