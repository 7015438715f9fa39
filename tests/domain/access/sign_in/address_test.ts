import assert from "node:assert/strict";
import { addressKey } from "../../../../domain/access/sign_in/address.ts";

Deno.test("an IPv4 address is its own key, also when mapped into IPv6", () => {
  assert.equal(addressKey("192.0.2.1"), "192.0.2.1");
  assert.equal(addressKey("::ffff:192.0.2.1"), "192.0.2.1");
  assert.equal(addressKey("::FFFF:192.0.2.1"), "192.0.2.1");
});

Deno.test("the key of an IPv6 address is its /64 network, in any notation", () => {
  const network = "2001:db8:0:1::/64";
  for (const tail of ["db8:0:1::", "db8:0:1::1", "DB8:0:1:a:b:c:d", "0db8:0000:0001:0:0:0:9"]) {
    assert.equal(addressKey(`2001:${tail}`), network, tail);
  }
  assert.equal(addressKey("::1"), "0:0:0:0::/64");
  assert.equal(addressKey("fe80::1%eth0"), "fe80:0:0:0::/64");
  assert.equal(addressKey("2001:db8::1:0:0:1"), "2001:db8:0:0::/64");
});

Deno.test("all invalid addresses share one key", () => {
  for (const ip of [null, "", "unknown", "1.2.3", "1.2.3.4:80", "x".repeat(10_000)]) {
    assert.equal(addressKey(ip), "unknown");
  }
});
