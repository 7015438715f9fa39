import assert from "node:assert/strict";
import { join } from "node:path";
import { ENDPOINTS } from "../../routes/endpoints.ts";
import { documentOfRoutes } from "../../scripts/client/document.ts";
import { generateClient } from "../../scripts/client/generate.ts";
import { runScript } from "../support/run_script.ts";

Deno.test("the client has a method for each endpoint", async () => {
  const client = generateClient(await documentOfRoutes());
  assert.deepEqual(ENDPOINTS.filter(({ id }) => !client.includes(` ${id}(`)).map(({ id }) => id), []);
});

Deno.test("the client has the routes of the given extensions", async () => {
  const client = generateClient(
    await documentOfRoutes("scripts/example/mod.ts,scripts/extensions/slack/mod.ts"),
  );
  for (const id of ["sendInvoice", "createInvoice"]) assert.ok(client.includes(` ${id}(`), id);
});

Deno.test("a folder that cannot be written is reported in one line", async () => {
  const file = await Deno.makeTempFile();
  const { code, err } = await runScript("build-client", [join(file, "below")]);
  assert.equal(code, 1);
  assert.match(err, /^the folder .* cannot be created: .*$/);
  await Deno.remove(file);
});
