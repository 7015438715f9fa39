import assert from "node:assert/strict";
import { isPublicAddress, readAllowList } from "../../../infra/http_out/addresses.ts";

Deno.test("only addresses of the public Internet are public", () => {
  const others =
    `127.0.0.1 127.255.255.254 0.0.0.0 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254
    100.64.0.1 198.18.0.1 192.0.2.1 224.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:7f00:1
    0:0:0:0:0:ffff:a00:1 fe80::1 fe80::1%eth0 fc00::1 fd12:3456::1 ff02::1 64:ff9b::7f00:1 2001:db8::1 2001::1
    2002:7f00:1:: ::7f00:1 localhost`.split(/\s+/);
  for (const address of [...others, ""]) assert.equal(isPublicAddress(address), false, address);
  const open = "1.1.1.1 8.8.8.8 172.15.0.1 172.32.0.1 100.128.0.1 2606:4700::1111 ::ffff:8.8.8.8";
  for (const address of open.split(" ")) assert.equal(isPublicAddress(address), true, address);
});

Deno.test("the allow list accepts hosts, host:port and ranges", () => {
  const allow = readAllowList("hooks.internal, api.internal:8443,10.0.0.0/8,[fd00::1]:80, fd01::/16");
  assert.ok(allow.allows("HOOKS.internal", 80, "10.0.0.1"));
  assert.ok(allow.allows("api.internal", 8443, "192.168.0.1"));
  assert.ok(!allow.allows("api.internal", 443, "192.168.0.1"));
  assert.ok(allow.allows("anything", 80, "10.9.9.9"));
  assert.ok(allow.allows("anything", 80, "::ffff:10.9.9.9"));
  assert.ok(allow.allows("[fd00::1]", 80, "fd00::1"));
  assert.ok(!allow.allows("[fd00::1]", 81, "fd00::1"));
  assert.ok(allow.allows("x", 1, "fd01::5"));
  assert.ok(!readAllowList(null).allows("x", 1, "10.0.0.1"));
  for (const bad of ["10.0.0.0/33", "http://x", "a b", "x:port", "::1/129", "1.2.3.4/x"]) {
    assert.throws(() => readAllowList(bad), /is no/, bad);
  }
});
