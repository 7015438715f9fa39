import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";

Deno.test("a stalled peer neither prevents the service from stopping nor changes the order of stopping", async () => {
  const t = await setup();
  const { hostname, port } = new URL(t.url);
  const peer = await Deno.connect({ hostname, port: Number(port) });
  const head = "POST /api/v1/auth/login HTTP/1.1\r\nhost: steward.test\r\ncontent-type: application/json\r\n";
  await peer.write(new TextEncoder().encode(`${head}content-length: 100\r\n\r\n{`));
  while ((await fetch(`${t.url}/healthz`)).status !== 200);
  await t.stop();
  await assert.rejects(fetch(`${t.url}/healthz`));
  peer.close();
});
