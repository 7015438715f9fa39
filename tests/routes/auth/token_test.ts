import assert from "node:assert/strict";
import { createSecretKey, generateKeyPairSync } from "node:crypto";
import { type CryptoKey, importJWK, type JWK, type KeyObject, SignJWT } from "jose";
import { newId } from "../../../domain/shared/ids.ts";
import { generateTokenKey } from "../../../infra/signing_keys.ts";
import { setup } from "../../support/setup.ts";
import { bearer, person, signIn, withToken } from "./people.ts";

const START = Date.parse("2030-01-01T00:00:00Z");
let now = START;
const clock = { now: () => new Date(now) };
const [signing, former, stale] = await Promise.all([
  generateTokenKey(),
  generateTokenKey(),
  generateTokenKey(),
]);
const t = await setup({ TOKEN_KEYS: JSON.stringify([signing, former]) }, { clock });
Deno.test.afterAll(() => t.stop());
Deno.test.beforeEach(() => {
  now = START;
});

const user = await person(t);
const { body: signedIn } = await signIn(t, user.email);
const [, payloadPart = ""] = signedIn.accessToken.split(".");
const genuine = JSON.parse(atob(payloadPart.replaceAll("-", "+").replaceAll("_", "/")));

const privateKey = (jwk: JWK) => importJWK(jwk, "EdDSA");
const b64 = (value: unknown) =>
  btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

/** A valid token except for the given claims and header. */
async function token(
  o: {
    claims?: Record<string, unknown>;
    header?: Record<string, unknown>;
    key?: CryptoKey | KeyObject | Uint8Array;
  } = {},
): Promise<string> {
  const header = { alg: "EdDSA", kid: signing.kid ?? "", typ: "at+jwt", ...o.header };
  const claims = Object.fromEntries(
    Object.entries({ ...genuine, ...o.claims }).filter(([, value]) => value !== undefined),
  );
  return await new SignJWT(claims).setProtectedHeader(header).sign(o.key ?? await privateKey(signing));
}

async function codeFor(accessToken: string): Promise<string> {
  const { status, body } = await withToken(t, accessToken).get("/api/v1/auth/me");
  assert.ok(status === 200 || status === 401, `${status}`);
  return status === 200 ? "OK" : body.code;
}

Deno.test("an access token has exactly the documented claims and is valid for 15 minutes", async () => {
  assert.deepEqual(Object.keys(genuine).sort(), [
    "aud",
    "exp",
    "iat",
    "iss",
    "jti",
    "sid",
    "sub",
    "tenant_id",
    "ver",
  ]);
  assert.equal(genuine.exp - genuine.iat, 900);
  assert.equal(genuine.iss, t.url);
  assert.equal(genuine.aud, "steward");
  assert.equal(genuine.tenant_id, user.tenantId);
  assert.equal(await codeFor(await token()), "OK");
});

Deno.test("the keys are published without their private parts, and other software can verify with them", async () => {
  const { status, body, headers } = await t.nobody.get("/.well-known/jwks.json");
  assert.equal(status, 200);
  assert.match(headers.get("cache-control") ?? "", /max-age/);
  assert.deepEqual(body.keys.map((key: JWK) => key.kid), [signing.kid, former.kid]);
  assert.ok(body.keys.every((key: JWK) => key.d === undefined && key.alg === "EdDSA" && key.use === "sig"));
  const { createLocalJWKSet, jwtVerify } = await import("jose");
  const { payload } = await jwtVerify(signedIn.accessToken, createLocalJWKSet(body), {
    issuer: t.url,
    audience: "steward",
    currentDate: clock.now(),
  });
  assert.equal(payload.sub, user.id);
});

Deno.test("alg none is rejected in every spelling, with and without a signature", async () => {
  for (const alg of ["none", "None", "NONE", "nOnE"]) {
    const head = b64({ alg, kid: signing.kid, typ: "at+jwt" });
    const signature = signedIn.accessToken.split(".")[2];
    for (const tail of ["", signature]) {
      assert.equal(await codeFor(`${head}.${payloadPart}.${tail}`), "TOKEN_INVALID");
    }
  }
});

Deno.test("HS256 with the public key as secret is rejected", async () => {
  const { body } = await t.nobody.get("/.well-known/jwks.json");
  const raw = Uint8Array.from(
    atob(body.keys[0].x.replaceAll("-", "+").replaceAll("_", "/")),
    (c) => c.charCodeAt(0),
  );
  const secrets = [
    raw,
    new TextEncoder().encode(body.keys[0].x),
    new TextEncoder().encode(JSON.stringify(body.keys[0])),
  ];
  for (const secret of secrets) {
    for (const alg of ["HS256", "HS384", "HS512"]) {
      const padded = secret.length < 64
        ? new Uint8Array([...secret, ...new Uint8Array(64 - secret.length)])
        : secret;
      const key = createSecretKey(alg === "HS256" && secret.length >= 32 ? secret : padded);
      assert.equal(await codeFor(await token({ header: { alg }, key })), "TOKEN_INVALID");
    }
  }
});

Deno.test("RS256 and ES256 are rejected, also with a key inside the token", async () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
  for (const [alg, pair] of [["RS256", rsa], ["PS256", rsa], ["ES256", ec]] as const) {
    const jwk = pair.publicKey.export({ format: "jwk" });
    for (const header of [{ alg }, { alg, jwk }, { alg, kid: undefined, jwk }]) {
      assert.equal(await codeFor(await token({ header, key: pair.privateKey })), "TOKEN_INVALID");
    }
  }
  const own = await generateTokenKey();
  const { d: _, ...publicPart } = own;
  const header = { jwk: publicPart, jku: "http://127.0.0.1/keys" };
  assert.equal(
    await codeFor(await token({ header, key: await privateKey(own) as CryptoKey })),
    "TOKEN_INVALID",
  );
});

Deno.test("a wrong issuer, audience, type, key id or critical header is rejected", async () => {
  const wrong = [
    { claims: { iss: "https://elsewhere.test" } },
    { claims: { iss: `${t.url}/` } },
    { claims: { iss: undefined } },
    { claims: { aud: "other" } },
    { claims: { aud: undefined } },
    { claims: { aud: ["other", "another"] } },
    { header: { typ: "JWT" } },
    { header: { typ: undefined } },
    { header: { typ: "id+jwt" } },
    { header: { kid: "unknown" } },
    { header: { kid: undefined } },
    { header: { kid: former.kid } },
  ];
  for (const change of wrong) {
    assert.equal(await codeFor(await token(change)), "TOKEN_INVALID", JSON.stringify(change));
  }
  const head = b64({ alg: "EdDSA", kid: signing.kid, typ: "at+jwt", crit: ["x"], x: 1 });
  assert.equal(await codeFor(`${head}.${payloadPart}.AAAA`), "TOKEN_INVALID");
});

Deno.test("missing claims and claims of the wrong type are rejected, even with a valid signature", async () => {
  const wrong: Record<string, unknown>[] = ["sub", "sid", "ver", "iat", "exp", "jti"].map((name) => ({
    [name]: undefined,
  }));
  wrong.push(
    { sub: "someone" },
    { sid: 7 },
    { sid: "x" },
    { ver: "1" },
    { ver: 1.5 },
    { tenant_id: 5 },
    { tenant_id: "x" },
    { tenant_id: {} },
    { exp: "soon" },
    { iat: "now" },
    { nbf: genuine.iat + 3_600 },
  );
  for (const claims of wrong) {
    assert.equal(await codeFor(await token({ claims })), "TOKEN_INVALID", JSON.stringify(claims));
  }
});

Deno.test("a former key verifies while it is configured, a removed one does not", async () => {
  const withKey = async (key: JWK) =>
    await codeFor(await token({ header: { kid: key.kid ?? "" }, key: await privateKey(key) as CryptoKey }));
  assert.equal(await withKey(former), "OK");
  assert.equal(await withKey(stale), "TOKEN_INVALID");
});

Deno.test("forged signatures and other changes are rejected", async () => {
  const [head, payload, signature = ""] = signedIn.accessToken.split(".");
  const flipped = (signature.startsWith("A") ? "B" : "A") + signature.slice(1);
  const forged = [
    `${head}.${payload}.${flipped}`,
    `${head}.${b64({ ...genuine, ver: 2 })}.${signature}`,
    `${head}.${payload}.`,
    `${head}.${payload}`,
    `${head}.${payload}.${signature}.${signature}`,
    `.${payload}.${signature}`,
    "x",
    "a.b.c",
    b64({ alg: "EdDSA" }),
  ];
  for (const one of forged) assert.equal(await codeFor(one), "TOKEN_INVALID", one);
});

Deno.test("an Authorization header of another form is invalid; a missing or blank one counts as missing", async () => {
  const code = async (authorization: string) =>
    (await t.nobody.with({ authorization }).get("/auth/me")).body.code;
  const missing = await t.nobody.get("/auth/me");
  assert.equal(missing.body.code, "TOKEN_MISSING");
  assert.match(missing.headers.get("www-authenticate") ?? "", /^Bearer/);
  assert.equal(await code(""), "TOKEN_MISSING");
  for (
    const header of [
      "Basic eA==",
      "Bearer",
      "Bearer ",
      signedIn.accessToken,
      `Bearer a b`,
      `Token ${signedIn.accessToken}`,
    ]
  ) {
    assert.equal(await code(header), "TOKEN_INVALID", header);
  }
  const lower = await t.nobody.with({ authorization: `bearer ${signedIn.accessToken}` }).get("/auth/me");
  assert.equal(lower.status, 200);
});

Deno.test("a token is valid exactly until its expiry, whether it was seen before or not", async () => {
  const seen = await token();
  assert.equal(await codeFor(seen), "OK");
  now = genuine.exp * 1000 - 1;
  assert.equal(await codeFor(seen), "OK");
  assert.equal(await codeFor(await token({ claims: { jti: newId() } })), "OK");
  now = genuine.exp * 1000;
  assert.equal(await codeFor(seen), "TOKEN_EXPIRED");
  assert.equal(await codeFor(await token({ claims: { jti: newId() } })), "TOKEN_EXPIRED");
});

Deno.test("a token from a clock up to 30 s ahead is valid, one from further ahead is not", async () => {
  const ahead = (seconds: number) => {
    const iat = genuine.iat + seconds;
    return token({ claims: { iat, exp: iat + 900, jti: newId() } });
  };
  assert.equal(await codeFor(await ahead(30)), "OK");
  assert.equal(await codeFor(await ahead(31)), "TOKEN_INVALID");
  const notBefore = (seconds: number) => token({ claims: { nbf: genuine.iat + seconds, jti: newId() } });
  assert.equal(await codeFor(await notBefore(30)), "OK");
  assert.equal(await codeFor(await notBefore(31)), "TOKEN_INVALID");
});

Deno.test("a correctly signed token of no session, or of another user's session, is invalid", async () => {
  const other = await person(t);
  const stranger = bearer(t, await signIn(t, other.email));
  assert.equal((await stranger.get("/auth/me")).status, 200);
  assert.equal(await codeFor(await token({ claims: { sid: newId() } })), "SESSION_INVALIDATED");
  assert.equal(await codeFor(await token({ claims: { sub: other.id } })), "SESSION_INVALIDATED");
  assert.equal(await codeFor(await token({ claims: { ver: 2 } })), "SESSION_INVALIDATED");
  assert.equal(await codeFor(await token({ claims: { ver: 0 } })), "SESSION_INVALIDATED");
});

Deno.test("an expired session is revoked", async () => {
  const answer = await signIn(t, (await person(t)).email);
  await t.steward.platform.sql`update sessions set expires_at = now() - interval '1 second'
    where user_id = ${answer.body.user.id}`;
  assert.equal((await bearer(t, answer).get("/auth/me")).body.code, "TOKEN_REVOKED");
});

Deno.test("the log contains no tokens, keys or passwords", () => {
  const log = t.logs.join("\n");
  assert.ok(log.length > 0);
  for (const secret of [signedIn.accessToken, signedIn.refreshToken, signing.d ?? "", "correct horse"]) {
    assert.ok(!log.includes(secret));
  }
});
