import assert from "node:assert/strict";
import { clientAddress } from "../../infra/http_server.ts";

const address = (forwarded: string | null, trustedProxies: number) =>
  clientAddress(
    new Headers(forwarded === null ? {} : { "x-forwarded-for": forwarded }),
    "10.0.0.1",
    trustedProxies,
  );

Deno.test("without trusted proxies, X-Forwarded-For is ignored", () => {
  assert.equal(address("192.0.2.1", 0), "10.0.0.1");
});

Deno.test("with N trusted proxies, the entry N from the end is the client", () => {
  assert.equal(address("192.0.2.66, 192.0.2.1", 1), "192.0.2.1");
  assert.equal(address("192.0.2.66, 192.0.2.1, 10.0.0.2", 2), "192.0.2.1");
});

Deno.test("a request that did not pass all proxies has the first address of the header", () => {
  assert.equal(address("192.0.2.1", 2), "192.0.2.1");
  assert.equal(address(null, 1), "10.0.0.1");
  assert.equal(address(" , ", 1), "10.0.0.1");
});
