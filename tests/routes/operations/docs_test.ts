import assert from "node:assert/strict";
import { refused } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";

const t = await setupShared();

Deno.test("the reference is one small page; an operation is loaded when it is opened", async () => {
  const { body: text } = await t.nobody.get("/docs");
  assert.ok(text.length < 250_000, `${text.length} characters`);
  const gzip = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  const { byteLength } = await new Response(gzip).arrayBuffer();
  assert.ok(byteLength < 40_000, `${byteLength} bytes compressed`);
  assert.match(text, /href="openapi\.json\?area=Admin%20users"/);
  await refused("404 ROUTE_NOT_FOUND", t.nobody.get("/docs/operations/nothing"));
  const operation = await t.nobody.get("/docs/operations/readUser");
  assert.match(operation.body, /USER_NOT_FOUND/);
  assert.doesNotMatch(text + operation.body, /https?:\/\/(?!example|127|shop)/);
});
