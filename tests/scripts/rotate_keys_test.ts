import assert from "node:assert/strict";
import { decodeProtectedHeader, type JWK } from "jose";
import { join } from "node:path";
import { newId } from "../../domain/shared/ids.ts";
import { systemClock } from "../../infra/clock.ts";
import { generateTokenKey } from "../../infra/signing_keys.ts";
import { createTokens } from "../../infra/tokens.ts";
import { atEnd } from "../support/at_end.ts";
import { rsaKey } from "../support/rsa_key.ts";
import { runScript } from "../support/run_script.ts";

const rotate = (args: string[], env: Record<string, string>) =>
  runScript("rotate-keys", args, { env: { TOKEN_KEYS: "", DATA_DIR: "", ...env } });
/** The next value of TOKEN_KEYS. */
const next = async (step: string, keys: string) => (await rotate([step], { TOKEN_KEYS: keys })).out;
const kids = (keys: string): (string | undefined)[] => JSON.parse(keys).map((key: JWK) => key.kid);
const tokensOf = (keys: string) =>
  createTokens({ keys: JSON.parse(keys), issuer: () => "x", audience: "steward", clock: systemClock });

const first = JSON.stringify([await generateTokenKey()]);

Deno.test("after a rotation tokens of the former key are valid until it is retired", async () => {
  const second = (await rotate([], { TOKEN_KEYS: first })).out;
  const third = await next("retire", second);
  assert.deepEqual(kids(second), [kids(third)[0], kids(first)[0]]);
  const claims = { sub: newId(), sid: newId(), tenantId: null, ver: 1 };
  const former = await (await tokensOf(first)).sign(claims);
  const rotated = await tokensOf(second);
  assert.equal(decodeProtectedHeader(await rotated.sign(claims)).kid, kids(second)[0]);
  assert.equal((await rotated.verify(former)).sub, claims.sub);
  await assert.rejects((await tokensOf(third)).verify(former), { fault: "TOKEN_INVALID" });
});

Deno.test("an announced key verifies before it signs, and promoting swaps the two", async () => {
  const announced = await next("announce", first);
  assert.equal(kids(announced)[0], kids(first)[0]);
  assert.deepEqual(kids(await next("promote", announced)), kids(announced).reverse());
  const again = await rotate(["promote"], { TOKEN_KEYS: first });
  assert.deepEqual([again.code, again.out], [1, ""]);
});

Deno.test("the keys of the OpenID provider rotate beside the others", async () => {
  const rsa = await rsaKey(); // making one takes seconds
  const both = JSON.stringify([...JSON.parse(first), rsa]);
  const added = await rotate(["add-rs256"], { TOKEN_KEYS: both });
  assert.deepEqual([added.code, added.out], [1, ""], "there is a key of each kind");
  const own = JSON.parse(await next("announce", first));
  const announced = JSON.stringify([...own, rsa, { ...rsa, kid: "announced" }]);
  const { out: promoted, err } = await rotate(["promote"], { TOKEN_KEYS: announced });
  assert.deepEqual(kids(promoted), [1, 0, 3, 2].map((index) => kids(announced)[index]));
  assert.equal(err.match(/signs/g)?.length, 2);
  assert.deepEqual(kids(await next("retire", promoted)), [kids(announced)[1], "announced"]);
});

Deno.test("without TOKEN_KEYS the development keys are rewritten, readable by the owner only", async () => {
  const dir = await Deno.makeTempDir({ prefix: "steward-test-" });
  await using _ = atEnd(() => Deno.remove(dir, { recursive: true }));
  const file = join(dir, "token-keys.json");
  await Deno.writeTextFile(file, first);
  const { code, out } = await rotate([], { DATA_DIR: dir });
  assert.deepEqual([code, out], [0, ""]);
  const after = kids(await Deno.readTextFile(file));
  assert.deepEqual([after.length, after[1]], [2, kids(first)[0]]);
  if (Deno.build.os !== "windows") assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
  assert.deepEqual(Array.from(Deno.readDirSync(dir), ({ name }) => name), ["token-keys.json"]);
});

Deno.test("wrong usage and unusable keys have their exit codes, and no key is shown", async () => {
  assert.equal((await rotate(["sideways"], {})).code, 64);
  assert.equal((await rotate(["now", "now"], {})).code, 64);
  for (const keys of ['[{"d":"hush-hush"', '[{"kty":"RSA","d":"hush-hush"}]', '{"d":"hush-hush"}', "[]"]) {
    const { code, out, err } = await rotate([], { TOKEN_KEYS: keys });
    assert.equal(code, 78, keys);
    assert.ok(!(out + err).includes("hush"));
  }
});
