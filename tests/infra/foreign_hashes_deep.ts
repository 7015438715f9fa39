import assert from "node:assert/strict";
import { verifyPassword } from "../../infra/passwords.ts";

Deno.test("a slow foreign hash does not block the main thread", async () => {
  const slow = `$pbkdf2-sha256$i=2000000$c2FsdA$${"A".repeat(43)}`;
  let longest = 0;
  let last = performance.now();
  const ticks = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  const started = performance.now();
  assert.equal(await verifyPassword(slow, "anything"), false);
  const taken = performance.now() - started;
  clearInterval(ticks);
  assert.ok(longest < taken / 3, `blocked for ${longest} of ${taken} ms`);
});

Deno.test("hashes of Django 5.2 with its million rounds are verified", async () => {
  for (
    const hash of [
      "pbkdf2_sha256$1000000$seasalt$r1uLUxoxpP2Ued/qxvmje7UH9PUJBkRrvf9gGPL7Cps=",
      "pbkdf2_sha1$1000000$seasalt$A053mdnAt0THnbEBJ7jpfP3yz1o=",
    ]
  ) assert.ok(await verifyPassword(hash, "lètmein"), hash);
});
