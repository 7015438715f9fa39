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

Deno.test("a process that hashed passwords ends by itself", async () => {
  const passwords = import.meta.resolve("../../infra/passwords.ts");
  const script = `import { hashPassword, verifyPassword } from "${passwords}";
    const hash = await hashPassword("a password");
    const all = ["a password", "another"].map((password) => verifyPassword(hash, password));
    console.log(JSON.stringify(await Promise.all(all)));`;
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", script],
    stderr: "inherit",
    signal: AbortSignal.timeout(30_000),
  }).output();
  assert.ok(success);
  assert.equal(new TextDecoder().decode(stdout), "[true,false]\n");
});
