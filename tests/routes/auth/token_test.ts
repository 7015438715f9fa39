import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createSecretKey, generateKeyPairSync } from "node:crypto";
import { type CryptoKey, importJWK, type JWK, type KeyObject, SignJWT } from "jose";
import { newId } from "../../../domain/shared/ids.ts";
import { generateTokenKey } from "../../../infra/signing_keys.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { setupFile } from "../../support/setup.ts";
import { signedIn, withToken } from "./people.ts";

const START = Date.parse("2030-01-01T00:00:00Z");
let now = START;
const clock = { now: () => new Date(now) };
const [signing, former, stale] = await Promise.all([
  generateTokenKey(),
  generateTokenKey(),
  generateTokenKey(),
]);
const t = await setupFile({ TOKEN_KEYS: JSON.stringify([signing, former]) }, { clock });
Deno.test.beforeEach(() => {
  now = START;
});

const user = await signedIn(t);
const { accessToken, refreshToken } = user.tokens;
const [headPart = "", payloadPart = "", signature = ""] = accessToken.split(".");
const genuine = JSON.parse(String(Buffer.from(payloadPart, "base64url")));

const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

interface Change {
  claims?: Record<string, unknown>;
  header?: Record<string, unknown>;
  key?: CryptoKey | KeyObject | Uint8Array;
}

/** A valid token except for the given claims and header. */
async function token({ claims, header, key }: Change = {}): Promise<string> {
  const entries = Object.entries({ ...genuine, ...claims }).filter(([, value]) => value !== undefined);
  return await new SignJWT(Object.fromEntries(entries))
    .setProtectedHeader({ alg: "EdDSA", kid: signing.kid ?? "", typ: "at+jwt", ...header })
    .sign(key ?? await importJWK(signing, "EdDSA"));
}

const outcomeOf = (accessToken: string) => outcome(withToken(t, accessToken).get("/api/v1/auth/me"));

/** Fails unless the service gives this answer to all tokens, and to changed ones. */
async function assertAll(expected: string, tokens: (string | Change)[]): Promise<void> {
  for (const each of tokens) {
    const text = typeof each === "string" ? each : await token(each);
    assert.equal(await outcomeOf(text), expected, typeof each === "string" ? each : JSON.stringify(each));
  }
}
const INVALID = "401 TOKEN_INVALID";

Deno.test("without an RSA key among the configured ones, only the OpenID provider refuses", async () => {
  const audience = "https://orders.test";
  const client = { name: "x", kind: "confidential", redirectUris: ["https://app.test/"], audience };
  const metadata = t.nobody.get("/.well-known/openid-configuration");
  const made = t.systemAdmin.post("/api/v1/oauth-clients", client);
  await refused("503 OPENID_KEY_MISSING_UNAVAILABLE", metadata, made);
});

Deno.test("an access token has exactly the documented claims and is valid for 15 minutes", async () => {
  const { exp, iat, iss, aud, tenant_id, sub, ver, ...others } = genuine;
  assert.deepEqual(Object.keys(others).sort(), ["jti", "sid"]);
  assert.equal(exp - iat, 900);
  assert.deepEqual([iss, aud, tenant_id, sub, ver], [t.url, "steward", user.tenantId, user.id, 1]);
  await assertAll("200", [{}]);
});

Deno.test("all keys are published, the signing one first, for a time", async () => {
  const { body, headers } = await t.nobody.get("/.well-known/jwks.json");
  assert.match(headers.get("cache-control") ?? "", /max-age/);
  assert.deepEqual(body.keys.map((key: JWK) => key.kid), [signing.kid, former.kid]);
  assert.ok(body.keys.every((key: JWK) => key.d === undefined && key.alg === "EdDSA" && key.use === "sig"));
});

Deno.test("alg none is rejected in every spelling, with and without a signature", async () => {
  const heads = ["none", "nOnE"].map((alg) => b64({ alg, kid: signing.kid, typ: "at+jwt" }));
  await assertAll(
    INVALID,
    heads.flatMap((head) => ["", signature].map((tail) => `${head}.${payloadPart}.${tail}`)),
  );
});

Deno.test("HS256 with the public key as secret is rejected", async () => {
  const { keys: [key] } = await accepted(t.nobody.get("/.well-known/jwks.json"));
  const secrets = [Buffer.from(key.x, "base64url"), Buffer.from(key.x), Buffer.from(JSON.stringify(key))];
  for (const secret of secrets) {
    await assertAll(INVALID, [{ header: { alg: "HS256" }, key: createSecretKey(secret) }]);
  }
});

Deno.test("RS256 and ES256 are rejected, also with a key inside the token", async () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
  for (const [alg, { publicKey, privateKey }] of [["RS256", rsa], ["ES256", ec]] as const) {
    const jwk = publicKey.export({ format: "jwk" });
    const headers = [{ alg }, { alg, jwk }, { alg, kid: undefined, jwk }];
    await assertAll(INVALID, headers.map((header) => ({ header, key: privateKey })));
  }
  const { d: _, ...jwk } = stale;
  const header = { jwk, jku: "http://127.0.0.1/keys" };
  await assertAll(INVALID, [{ header, key: await importJWK(stale, "EdDSA") as CryptoKey }]);
});

Deno.test("a wrong issuer, audience, type, key id or critical header is rejected", async () => {
  const claims = [
    ...["https://elsewhere.test", `${t.url}/`, undefined].map((iss) => ({ iss })),
    ...["other", undefined, ["other", "another"]].map((aud) => ({ aud })),
  ];
  const headers = [
    ...["JWT", undefined, "id+jwt"].map((typ) => ({ typ })),
    ...["unknown", undefined, former.kid].map((kid) => ({ kid })),
  ];
  await assertAll(INVALID, [
    ...claims.map((claims) => ({ claims })),
    ...headers.map((header) => ({ header })),
  ]);
  const head = b64({ alg: "EdDSA", kid: signing.kid, typ: "at+jwt", crit: ["x"], x: 1 });
  await assertAll(INVALID, [`${head}.${payloadPart}.AAAA`]);
});

Deno.test("missing claims and claims of the wrong type are rejected, even with a valid signature", async () => {
  const missing = ["sub", "sid", "ver", "iat", "exp", "jti"].map((name) => ({ [name]: undefined }));
  const wrong = [
    { sub: "someone" },
    ...[7, "x"].map((sid) => ({ sid })),
    ...["1", 1.5].map((ver) => ({ ver })),
    ...[5, "x", {}].map((tenant_id) => ({ tenant_id })),
    { exp: "soon" },
    { iat: "now" },
    { nbf: genuine.iat + 3_600 },
  ];
  await assertAll(INVALID, [...missing, ...wrong].map((claims) => ({ claims })));
});

Deno.test("forged signatures and other changes are rejected", async () => {
  const flipped = (signature.startsWith("A") ? "B" : "A") + signature.slice(1);
  await assertAll(INVALID, [
    `${headPart}.${payloadPart}.${flipped}`,
    `${headPart}.${b64({ ...genuine, ver: 2 })}.${signature}`,
    `${headPart}.${payloadPart}.`,
    `${headPart}.${payloadPart}`,
    `${headPart}.${payloadPart}.${signature}.${signature}`,
    `.${payloadPart}.${signature}`,
    "x",
  ]);
});

Deno.test("an Authorization header of another form is invalid; a missing or blank one counts as missing", async () => {
  const ask = (headers = {}) => t.nobody.get("/auth/me", headers);
  assert.match((await ask()).headers.get("www-authenticate") ?? "", /^Bearer/);
  const expected: [string, string[]][] = [
    ["401 TOKEN_MISSING", [""]],
    [INVALID, ["Basic eA==", "Bearer", "Bearer ", accessToken, "Bearer a b", `Token ${accessToken}`]],
    ["200", [`bearer ${accessToken}`]],
  ];
  for (const [answer, headers] of expected) {
    for (const authorization of headers) {
      assert.equal(await outcome(ask({ authorization })), answer, authorization);
    }
  }
});

Deno.test("a token is valid exactly until its expiry, whether it was seen before or not", async () => {
  const seen = await token();
  await assertAll("200", [seen]);
  now = genuine.exp * 1000 - 1;
  await assertAll("200", [seen, { claims: { jti: newId() } }]);
  now = genuine.exp * 1000;
  await assertAll("401 TOKEN_EXPIRED", [seen, { claims: { jti: newId() } }]);
});

Deno.test("a token from a clock up to 30 s ahead is valid, one from further ahead is not", async () => {
  for (const [seconds, expected] of [[30, "200"], [31, INVALID]] as const) {
    const ahead = genuine.iat + seconds;
    const claims = [{ iat: ahead, exp: ahead + 900, jti: newId() }, { nbf: ahead, jti: newId() }];
    await assertAll(expected, claims.map((claims) => ({ claims })));
  }
});

Deno.test("a correctly signed token of no session, or of another user's session, is invalid", async () => {
  const other = await signedIn(t);
  await accepted(other.me.get("/auth/me"));
  const claims = [{ sid: newId() }, { sub: other.id }, { ver: 2 }, { ver: 0 }];
  await assertAll("401 SESSION_INVALIDATED", claims.map((claims) => ({ claims })));
});

Deno.test("an expired session is revoked", async () => {
  const { id, tokens } = await signedIn(t);
  await t.steward.platform
    .sql`update sessions set expires_at = now() - interval '1 second' where user_id = ${id}`;
  await assertAll("401 TOKEN_REVOKED", [tokens.accessToken]);
});

Deno.test("the log contains no tokens, keys or passwords", () => {
  const log = t.logs.join("\n");
  assert.ok(log.length > 0);
  for (const secret of [accessToken, refreshToken, signing.d ?? "", "correct horse"]) {
    assert.ok(!log.includes(secret));
  }
});
