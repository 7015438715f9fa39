import {
  calculateJwkThumbprint,
  decodeProtectedHeader,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  jwtVerify,
  SignJWT,
} from "jose";
import { join } from "node:path";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";

export const ACCESS_TOKEN_SECONDS = 15 * 60;
const ALGORITHM = "EdDSA";
/** How far in the future a token may be issued, because clocks differ. Expiry has no tolerance. */
const TOLERANCE_SECONDS = 30;
const MAX_CACHED = 10_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const isUuid = (value: unknown): value is string => typeof value === "string" && UUID.test(value);

/** Claims of an access token. */
export interface AccessClaims {
  sub: string;
  sid: string;
  tenantId: string | null;
  /** The security version of the session. */
  ver: number;
  exp: number;
}

export type TokenFault = "TOKEN_INVALID" | "TOKEN_EXPIRED";

/** Thrown for an invalid or expired token. */
export class TokenRefused extends Error {
  override name = "TokenRefused";
  constructor(readonly fault: TokenFault, reason: string) {
    super(reason);
  }
}

export interface Tokens {
  sign(claims: Omit<AccessClaims, "exp">): Promise<string>;
  /** @throws TokenRefused */
  verify(token: string): Promise<AccessClaims>;
  /** The public keys, for `/.well-known/jwks.json`. */
  publicKeys(): { keys: JWK[] };
}

/** Tokens with the configured keys; without any, with the keys that development keeps in its data folder. */
export async function openTokens(config: Config, o: { issuer: () => string; clock: Clock }): Promise<Tokens> {
  const { TOKEN_KEYS, TOKEN_AUDIENCE: audience, DATA_DIR } = config;
  const keys = TOKEN_KEYS ? JSON.parse(TOKEN_KEYS) : await readOrCreateTokenKeys(DATA_DIR);
  return await createTokens({ keys, audience, ...o });
}

/**
 * Signs with the first key and verifies with any. Ed25519 is the only accepted algorithm. Verified tokens are cached
 * until they expire, at most 10,000, because checking a signature costs more than the rest of a request.
 */
export async function createTokens(
  o: { keys: JWK[]; issuer: () => string; audience: string; clock: Clock },
): Promise<Tokens> {
  const keys = await Promise.all(o.keys.map(readKey));
  const newest = keys[0];
  if (!newest) throw new Error("no token key was given; expected at least one Ed25519 private JWK");
  const byId = new Map(keys.map((key) => [key.kid, key]));
  const cache = new Map<string, AccessClaims>();
  const seconds = () => Math.floor(o.clock.now().getTime() / 1000);

  return {
    async sign({ sub, sid, tenantId, ver }) {
      const now = seconds();
      return await new SignJWT({ sid, ver, ...(tenantId ? { tenant_id: tenantId } : {}) })
        .setProtectedHeader({ alg: ALGORITHM, kid: newest.kid, typ: "at+jwt" })
        .setSubject(sub).setIssuer(o.issuer()).setAudience(o.audience).setJti(crypto.randomUUID())
        .setIssuedAt(now).setExpirationTime(now + ACCESS_TOKEN_SECONDS).sign(newest.privateKey);
    },
    async verify(token) {
      const known = cache.get(token);
      if (known) {
        if (known.exp > seconds()) return known;
        cache.delete(token);
        throw tokenExpired();
      }
      const claims = await check(token, byId, o, seconds());
      if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value ?? "");
      cache.set(token, claims);
      return claims;
    },
    publicKeys: () => ({ keys: keys.map(({ publicJwk }) => publicJwk) }),
  };
}

const tokenExpired = () => new TokenRefused("TOKEN_EXPIRED", "The access token has expired.");

type Key = Awaited<ReturnType<typeof readKey>>;

async function readKey(jwk: JWK) {
  if (jwk.kty !== "OKP" || jwk.crv !== "Ed25519" || !jwk.d || !jwk.x) {
    throw new Error("a token key is not an Ed25519 private JWK (kty OKP, crv Ed25519, with d and x)");
  }
  const publicPart = { kty: jwk.kty, crv: jwk.crv, x: jwk.x };
  const kid = jwk.kid ?? await calculateJwkThumbprint(publicPart);
  return {
    kid,
    privateKey: await importJWK({ ...publicPart, d: jwk.d }, ALGORITHM),
    publicKey: await importJWK(publicPart, ALGORITHM),
    publicJwk: { ...publicPart, kid, alg: ALGORITHM, use: "sig" } as JWK,
  };
}

async function check(
  token: string,
  keys: Map<string, Key>,
  o: { issuer: () => string; audience: string },
  now: number,
): Promise<AccessClaims> {
  try {
    const key = keys.get(decodeProtectedHeader(token).kid ?? "");
    if (!key) {
      throw new TokenRefused("TOKEN_INVALID", "The access token names a key this service does not have.");
    }
    const { payload } = await jwtVerify(token, key.publicKey, {
      algorithms: [ALGORITHM],
      typ: "at+jwt",
      issuer: o.issuer(),
      audience: o.audience,
      requiredClaims: ["sub", "sid", "ver", "iat", "exp", "jti"],
      clockTolerance: TOLERANCE_SECONDS,
      currentDate: new Date(now * 1000),
    });
    const { sub, sid, ver, iat, exp = 0, tenant_id: tenantId = null } = payload;
    if (exp <= now) throw tokenExpired(); // the library's tolerance also applies to `exp`
    const fits = isUuid(sub) && isUuid(sid) && Number.isSafeInteger(ver) &&
      (tenantId === null || isUuid(tenantId));
    if (!fits || (iat ?? Infinity) > now + TOLERANCE_SECONDS) {
      throw new TokenRefused(
        "TOKEN_INVALID",
        "The access token's claims are invalid, or it was issued in the future.",
      );
    }
    return { sub, sid, ver: ver as number, tenantId, exp };
  } catch (error) {
    if (error instanceof TokenRefused) throw error;
    if (error instanceof errors.JWTExpired) throw tokenExpired();
    throw new TokenRefused(
      "TOKEN_INVALID",
      "The access token is malformed, forged, or meant for another service.",
    );
  }
}

/** A new private key for `TOKEN_KEYS`. */
export async function generateTokenKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { crv: "Ed25519", extractable: true });
  const jwk = await exportJWK(privateKey);
  return { ...jwk, kid: await calculateJwkThumbprint(jwk) };
}

/** One step of a key rotation. */
export type RotationStep = "now" | "announce" | "promote" | "retire";

/**
 * Returns the token keys after one rotation step, the signing key first.
 * - `now`: adds a new key that signs. The current key still verifies. Older keys are removed.
 * - `announce`: adds a new key that only verifies, so that every instance can load it first.
 * - `promote`: the announced key signs. The current key still verifies.
 * - `retire`: removes all keys but the signing key.
 * @throws Error for `promote` without a second key.
 */
export async function rotateTokenKeys(keys: JWK[], step: RotationStep): Promise<JWK[]> {
  const present = keys.slice(0, 1);
  switch (step) {
    case "now":
      return [await generateTokenKey(), ...present];
    case "announce":
      return [...present, await generateTokenKey()];
    case "promote":
      if (!keys[1]) throw new Error("there is no second key to promote; announce one first");
      return [keys[1], ...present];
    case "retire":
      return present;
  }
}

const keyFile = (dir: string) => join(dir, "token-keys.json");

/** Development: reads the token keys from `dir`; creates them at the first start. */
export async function readOrCreateTokenKeys(dir: string): Promise<JWK[]> {
  try {
    return JSON.parse(await Deno.readTextFile(keyFile(dir)));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const keys = [await generateTokenKey()];
    await writeTokenKeys(dir, keys);
    return keys;
  }
}

/** Writes the development keys atomically. Only the owner may read the file. */
export async function writeTokenKeys(dir: string, keys: JWK[]): Promise<void> {
  const part = `${keyFile(dir)}.${crypto.randomUUID()}.part`;
  await Deno.writeTextFile(part, JSON.stringify(keys), { mode: 0o600 });
  await Deno.rename(part, keyFile(dir));
}
