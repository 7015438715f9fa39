import assert from "node:assert/strict";
import { clientAddress } from "../../infra/client_address.ts";

const address = (forwarded: string | null, trustedProxies: number) =>
  clientAddress(
    new Headers(forwarded === null ? {} : { "x-forwarded-for": forwarded }),
    "10.0.0.1",
    trustedProxies,
  );

Deno.test("without trusted proxies nobody can claim another address", () => {
  assert.equal(address("192.0.2.1", 0), "10.0.0.1");
});

Deno.test("each trusted proxy vouches for one entry from the end", () => {
  assert.equal(address("192.0.2.66, 192.0.2.1", 1), "192.0.2.1");
  assert.equal(address("192.0.2.66, 192.0.2.1, 10.0.0.2", 2), "192.0.2.1");
});

Deno.test("a request that did not come through all proxies has the address furthest from here", () => {
  assert.equal(address("192.0.2.1", 2), "192.0.2.1");
  assert.equal(address(null, 1), "10.0.0.1");
  assert.equal(address(" , ", 1), "10.0.0.1");
});
