import assert from "node:assert/strict";
import { decodeJwt, decodeProtectedHeader, type JWK } from "jose";
import { join } from "node:path";
import { createTestDatabase } from "../support/cluster.ts";
import { runScript, runScriptProcess } from "../support/run_script.ts";
import { setup } from "../support/setup.ts";
import { systemClock } from "../../infra/clock.ts";
import { generateTokenKey } from "../../infra/signing_keys.ts";
import { createTokens } from "../../infra/tokens.ts";

const rotate = (args: string[], env: Record<string, string>, run = runScript) =>
  run("rotate-keys", args, { env: { TOKEN_KEYS: "", DATA_DIR: "", ...env } });

const membersOf = (name: "kid" | "kty") => (keys: string): (string | undefined)[] =>
  JSON.parse(keys).map((key: JWK) => key[name]);
const kids = membersOf("kid");
const kinds = membersOf("kty");

Deno.test("after a rotation tokens of the former key are valid until it is retired", async () => {
  const shared = { DATABASE_URL: await createTestDatabase(), PUBLIC_URL: "http://steward.test" };
  const first = JSON.stringify([await generateTokenKey()]);
  const second = (await rotate([], { TOKEN_KEYS: first })).out;
  const third = (await rotate(["retire"], { TOKEN_KEYS: second })).out;
  assert.deepEqual(kids(second), [kids(third)[0], kids(first)[0]]);
  const tokens = await createTokens({
    keys: JSON.parse(first),
    issuer: () => shared.PUBLIC_URL,
    audience: "steward",
    clock: systemClock,
  });
  for (const [keys, expected] of [[second, "OK"], [third, "TOKEN_INVALID"]] as const) {
    const t = await setup({ ...shared, TOKEN_KEYS: keys });
    try {
      const credentials = { email: "admin@steward.local", password: "steward-admin-dev" };
      const { body: { accessToken } } = await t.nobody.post("/auth/login", credentials);
      assert.equal(decodeProtectedHeader(accessToken).kid, kids(keys)[0]);
      const { sub = "", sid, tenant_id, ver } = decodeJwt<{ sid: string; tenant_id: string; ver: number }>(
        accessToken,
      );
      const former = await tokens.sign({ sub, sid, tenantId: tenant_id, ver });
      const me = await t.nobody.with({ authorization: `Bearer ${former}` }).get("/auth/me");
      assert.equal(me.body.code ?? "OK", expected);
      const published = (await t.nobody.get("/.well-known/jwks.json")).body.keys;
      assert.deepEqual(published.map((key: JWK) => key.kid), kids(keys));
    } finally {
      await t.stop();
    }
  }
});

Deno.test("the first keys of an installation are printed, one of each kind, and are good for a start", async () => {
  const { code, out, err } = await rotate(["create"], {}, runScriptProcess);
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(kinds(out), ["OKP", "RSA"]);
  const refused = await rotate(["add-rs256"], { TOKEN_KEYS: out });
  assert.deepEqual([refused.code, refused.out], [1, ""], "there is a key of each kind");
});

Deno.test("an announced key verifies before it signs, and promoting swaps the two", async () => {
  const first = JSON.stringify([await generateTokenKey()]);
  const announced = (await rotate(["announce"], { TOKEN_KEYS: first })).out;
  assert.equal(kids(announced)[0], kids(first)[0]);
  const promoted = (await rotate(["promote"], { TOKEN_KEYS: announced })).out;
  assert.deepEqual(kids(promoted), kids(announced).reverse());
  const again = await rotate(["promote"], { TOKEN_KEYS: first });
  assert.deepEqual([again.code, again.out], [1, ""]);
});

Deno.test("the key of the OpenID provider is added once, then rotates beside the others", async () => {
  const first = JSON.stringify([await generateTokenKey()]);
  const { out: both } = await rotate(["add-rs256"], { TOKEN_KEYS: first });
  assert.deepEqual(kinds(both), ["OKP", "RSA"]);
  assert.equal(kids(both)[0], kids(first)[0]);
  const { out: announced } = await rotate(["announce"], { TOKEN_KEYS: both });
  assert.deepEqual(kinds(announced), ["OKP", "OKP", "RSA", "RSA"]);
  const { out: promoted, err } = await rotate(["promote"], { TOKEN_KEYS: announced });
  assert.deepEqual(kids(promoted), [1, 0, 3, 2].map((index) => kids(announced)[index]));
  assert.equal(err.match(/signs/g)?.length, 2);
  const { out: retired } = await rotate(["retire"], { TOKEN_KEYS: promoted });
  assert.deepEqual(kids(retired), [kids(announced)[1], kids(announced)[3]]);
});

Deno.test("without TOKEN_KEYS the development keys are rewritten, readable by the owner only", async () => {
  const dir = await Deno.makeTempDir({ prefix: "steward-test-" });
  try {
    const file = join(dir, "token-keys.json");
    await Deno.writeTextFile(file, JSON.stringify([await generateTokenKey()]));
    const before = kids(await Deno.readTextFile(file));
    const { code, out } = await rotate([], { DATA_DIR: dir });
    assert.deepEqual([code, out], [0, ""]);
    const after = kids(await Deno.readTextFile(file));
    assert.deepEqual([after.length, after[1]], [2, before[0]]);
    if (Deno.build.os !== "windows") assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
    assert.deepEqual(Array.from(Deno.readDirSync(dir), ({ name }) => name), ["token-keys.json"]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
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
