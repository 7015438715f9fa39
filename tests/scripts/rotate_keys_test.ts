import assert from "node:assert/strict";
import { decodeProtectedHeader, type JWK } from "jose";
import { join } from "node:path";
import { createTestDatabase } from "../support/cluster.ts";
import { runScript } from "../support/run_script.ts";
import { setup } from "../support/setup.ts";
import { generateTokenKey } from "../../infra/signing_keys.ts";

/** Runs the script with only the permissions it needs. */
const rotate = (args: string[], env: Record<string, string>) =>
  runScript("rotate-keys", args, {
    permissions: [
      "--allow-env=TOKEN_KEYS,TOKEN_KEYS_FILE,DATA_DIR",
      ...env.DATA_DIR ? [`--allow-read=${env.DATA_DIR}`, `--allow-write=${env.DATA_DIR}`] : [],
    ],
    env: { TOKEN_KEYS: "", DATA_DIR: "", ...env },
  });

const kids = (keys: string): (string | undefined)[] => JSON.parse(keys).map((key: JWK) => key.kid);

Deno.test("after a rotation tokens of the former key are valid until it is retired", async () => {
  const shared = { DATABASE_URL: await createTestDatabase(), PUBLIC_URL: "http://steward.test" };
  const first = JSON.stringify([await generateTokenKey()]);
  const second = (await rotate([], { TOKEN_KEYS: first })).out;
  const third = (await rotate(["retire"], { TOKEN_KEYS: second })).out;
  assert.deepEqual(kids(second), [kids(third)[0], kids(first)[0]]);
  const credentials = { email: "admin@steward.local", password: "steward-admin-dev" };
  let token = "";
  for (const [keys, expected] of [[first, "OK"], [second, "OK"], [third, "TOKEN_INVALID"]] as const) {
    const t = await setup({ ...shared, TOKEN_KEYS: keys });
    try {
      const { body } = await t.nobody.post("/auth/login", credentials);
      assert.equal(decodeProtectedHeader(body.accessToken).kid, kids(keys)[0]);
      token ||= body.accessToken;
      const me = await t.nobody.with({ authorization: `Bearer ${token}` }).get("/auth/me");
      assert.equal(me.body.code ?? "OK", expected);
      const published = (await t.nobody.get("/.well-known/jwks.json")).body.keys;
      assert.deepEqual(published.map((key: JWK) => key.kid), kids(keys));
    } finally {
      await t.stop();
    }
  }
});

Deno.test("the first keys of an installation are printed, one of each kind, and are good for a start", async () => {
  const { code, out, err } = await rotate(["create"], {});
  assert.deepEqual([code, err], [0, ""]);
  assert.deepEqual(JSON.parse(out).map((key: JWK) => key.kty), ["OKP", "RSA"]);
  assert.equal((await rotate(["announce"], { TOKEN_KEYS: out })).code, 0);
  assert.notDeepEqual(kids((await rotate(["create"], { TOKEN_KEYS: out })).out), kids(out));
});

Deno.test("an announced key verifies before it signs, and promoting swaps the two", async () => {
  const first = JSON.stringify([await generateTokenKey()]);
  const announced = (await rotate(["announce"], { TOKEN_KEYS: first })).out;
  assert.equal(kids(announced)[0], kids(first)[0]);
  const promoted = (await rotate(["promote"], { TOKEN_KEYS: announced })).out;
  assert.deepEqual(kids(promoted), kids(announced).reverse());
  const again = await rotate(["promote"], { TOKEN_KEYS: first });
  assert.equal(again.code, 1);
  assert.equal(again.out, "");
});

Deno.test("the key of the OpenID provider is added once, then rotates beside the others", async () => {
  const first = JSON.stringify([await generateTokenKey()]);
  const { out: both } = await rotate(["add-rs256"], { TOKEN_KEYS: first });
  const algorithms = (keys: string) => JSON.parse(keys).map((key: JWK) => key.kty);
  assert.deepEqual(algorithms(both), ["OKP", "RSA"]);
  assert.equal(kids(both)[0], kids(first)[0]);
  assert.equal((await rotate(["add-rs256"], { TOKEN_KEYS: both })).code, 1);
  const { out: announced } = await rotate(["announce"], { TOKEN_KEYS: both });
  assert.deepEqual(algorithms(announced), ["OKP", "OKP", "RSA", "RSA"]);
  const { out: promoted, err } = await rotate(["promote"], { TOKEN_KEYS: announced });
  assert.deepEqual(kids(promoted), [1, 0, 3, 2].map((index) => kids(announced)[index]));
  assert.equal(err.match(/signs/g)?.length, 2);
  const { out: retired } = await rotate(["retire"], { TOKEN_KEYS: promoted });
  assert.deepEqual(kids(retired), [kids(announced)[1], kids(announced)[3]]);
  const t = await setup({ TOKEN_KEYS: promoted });
  try {
    const published = (await t.nobody.get("/.well-known/jwks.json")).body.keys;
    assert.deepEqual(published.map((key: JWK) => key.kid), kids(promoted));
  } finally {
    await t.stop();
  }
});

Deno.test("without TOKEN_KEYS the development keys are rewritten, readable by the owner only", async () => {
  // not below /dev, where the runner may put temporary files: the script may read only some folders
  const dir = await Deno.makeTempDir({
    prefix: "steward-test-",
    ...Deno.build.os === "linux" ? { dir: "/tmp" } : {},
  });
  try {
    const file = join(dir, "token-keys.json");
    await Deno.writeTextFile(file, JSON.stringify([await generateTokenKey()]));
    const before = kids(await Deno.readTextFile(file));
    const { code, out } = await rotate([], { DATA_DIR: dir });
    assert.equal(code, 0);
    assert.equal(out, "");
    const after = kids(await Deno.readTextFile(file));
    assert.equal(after.length, 2);
    assert.equal(after[1], before[0]);
    if (Deno.build.os !== "windows") assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
    assert.deepEqual(Array.from(Deno.readDirSync(dir), ({ name }) => name), ["token-keys.json"]);
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
});

Deno.test("help, wrong usage and unusable keys have their exit codes, and no key is shown", async () => {
  const help = await rotate(["--help"], {});
  assert.equal(help.code, 0);
  assert.match(help.out, /Usage: deno task rotate-keys/);
  assert.equal((await rotate(["sideways"], {})).code, 64);
  assert.equal((await rotate(["now", "now"], {})).code, 64);
  for (const keys of ['[{"d":"hush-hush"', '[{"kty":"RSA","d":"hush-hush"}]', '{"d":"hush-hush"}', "[]"]) {
    const { code, out, err } = await rotate([], { TOKEN_KEYS: keys });
    assert.equal(code, 78, keys);
    assert.ok(!(out + err).includes("hush"));
  }
});
