import assert from "node:assert/strict";
import { join } from "node:path";
import { ENDPOINTS } from "../../routes/endpoints.ts";
import { documentOfRoutes } from "../../scripts/client/document.ts";
import { generateClient } from "../../scripts/client/generate.ts";
import { runScript } from "../support/run_script.ts";

Deno.test("the client has a method for each endpoint, those of the given extensions too", async () => {
  const modules = "scripts/example/mod.ts,scripts/extensions/slack/mod.ts";
  const client = generateClient(await documentOfRoutes(modules));
  const ids = [...ENDPOINTS.map(({ id }) => id), "sendInvoice", "createInvoice"];
  assert.deepEqual(ids.filter((id) => !client.includes(` ${id}(`)), []);
});

Deno.test("a folder that cannot be written is reported in one line", async () => {
  const file = await Deno.makeTempFile();
  const { code, err } = await runScript("build-client", [join(file, "below")]);
  assert.equal(code, 1);
  assert.match(err, /^the folder .* cannot be created: .*$/);
  await Deno.remove(file);
});
