import { decodeProtectedHeader, errors, type JWK, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import type { Clock } from "./clock.ts";
import type { Config } from "./config.ts";
import {
  algorithmOf,
  readOrCreateTokenKeys,
  readSigningKey,
  type SigningAlgorithm,
  type SigningKey,
} from "./signing_keys.ts";

export const ACCESS_TOKEN_SECONDS = 15 * 60;
/** The only algorithm of the service's own access tokens. */
const OWN_ALGORITHM = "EdDSA";
const ACCESS_TYPE = "at+jwt";
/** How far in the future a token may be issued, because clocks differ. Expiry has no tolerance. */
const TOLERANCE_SECONDS = 30;
const MAX_CACHED = 10_000;
const isUuid = (value: unknown): value is string => typeof value === "string" && z.regexes.guid.test(value);

/** Claims of an access token for the service's own API. */
export interface AccessClaims {
  /** The user; for a service account, its id. */
  sub: string;
  /** The session; null: the token of a service account. */
  sid: string | null;
  tenantId: string | null;
  /** The security version of the session, or the version of the account's secret. */
  ver: number;
  exp: number;
}

/** Claims of an access token of a user's session. */
export type SessionClaims = Omit<AccessClaims, "exp" | "sid"> & {
  sid: string;
  /** The user who acts as `sub` (RFC 8693, 4.1). */
  act?: string | undefined;
  /** Absent: 15 minutes. */
  lifeSeconds?: number;
};

/** A token that is no access token for the service's own API, such as those of the OpenID provider. */
export interface IssuedToken {
  /**
   * `at+jwt`: an access token; `JWT`: an ID token; `logout+jwt`: tells a client that the user has signed out;
   * `stream-ticket+jwt`: opens the user's stream.
   */
  typ: "at+jwt" | "JWT" | "logout+jwt" | "stream-ticket+jwt";
  algorithm: SigningAlgorithm;
  audience: string;
  subject: string;
  lifeSeconds: number;
  claims: Record<string, unknown>;
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
  sign(claims: SessionClaims): Promise<string>;
  /** Signs an access token for the service's own API that stands for the secret of a service account. */
  signForAccount(
    o: { accountId: string; clientId: string; secretVersion: number; lifeSeconds: number },
  ): Promise<string>;
  /** Verifies an access token for the service's own API. @throws TokenRefused */
  verify(token: string): Promise<AccessClaims>;
  /** Verifies an access token for any audience, also of the OpenID provider's clients. @throws TokenRefused */
  verifyForAny(token: string): Promise<JWTPayload & { exp: number }>;
  /** Signs a token of the OpenID provider. @throws Error without a key of the algorithm */
  issue(token: IssuedToken): Promise<string>;
  /**
   * Verifies a token that the OpenID provider issued, for any audience.
   * @param o.evenIfExpired accepts an expired token: an ID token as a hint
   * @throws TokenRefused
   */
  verifyIssued(token: string, typ: IssuedToken["typ"], o?: { evenIfExpired: boolean }): Promise<JWTPayload>;
  /** True if there is a key that signs ID tokens, so that the OpenID provider can work. */
  hasProviderKey: boolean;
  /** The public keys, for `/.well-known/jwks.json`. */
  publicKeys(): Promise<{ keys: JWK[] }>;
}

export interface TokenOptions {
  issuer: () => string;
  clock: Clock;
}

/** Tokens with the configured keys; without any, with the keys that development keeps in its data folder. */
export async function openTokens(config: Config, o: TokenOptions): Promise<Tokens> {
  const { TOKEN_KEYS, TOKEN_AUDIENCE: audience, DATA_DIR } = config;
  if (TOKEN_KEYS) return await createTokens({ keys: JSON.parse(TOKEN_KEYS), audience, ...o });
  return await createTokens({
    keys: await readOrCreateTokenKeys(DATA_DIR),
    lateKeys: () => readOrCreateTokenKeys(DATA_DIR, "RS256"),
    audience,
    ...o,
  });
}

/**
 * Signs with the first key of an algorithm and verifies with any. Verified tokens are cached until they expire, at most
 * 10,000, because checking a signature costs more than the rest of a request.
 * @param o.lateKeys RS256 keys that are read at their first use, instead of those in `keys`
 */
export async function createTokens(
  o: TokenOptions & { keys: JWK[]; lateKeys?: () => Promise<JWK[]>; audience: string },
): Promise<Tokens> {
  const given = await Promise.all(o.keys.map(readSigningKey));
  const own = given.find(({ algorithm }) => algorithm === OWN_ALGORITHM);
  if (!own) throw new Error("no token key was given; expected at least one Ed25519 private JWK");
  let late: Promise<SigningKey[]> | undefined;
  const allKeys = async () => o.lateKeys ? [...given, ...await (late ??= readKeys(o.lateKeys))] : given;
  const keyOf = async (kid: string | undefined) =>
    given.find((key) => key.kid === kid) ?? (await allKeys()).find((key) => key.kid === kid);
  const signer = async (algorithm: SigningAlgorithm): Promise<SigningKey> => {
    const keys = algorithm === OWN_ALGORITHM ? given : await allKeys();
    const key = keys.find((each) => each.algorithm === algorithm);
    if (!key) throw new Error(`there is no ${algorithm} key among the token keys`);
    return key;
  };
  const cache = new Map<string, AccessClaims>();
  const cacheForAny = new Map<string, JWTPayload & { exp: number }>();
  const seconds = () => Math.floor(o.clock.now().getTime() / 1000);

  async function signed(key: SigningKey, token: Omit<IssuedToken, "algorithm">): Promise<string> {
    const now = seconds();
    const { typ, audience, subject, lifeSeconds, claims } = token;
    return await new SignJWT(claims)
      .setProtectedHeader({ alg: key.algorithm, kid: key.kid, typ })
      .setSubject(subject).setIssuer(o.issuer()).setAudience(audience).setJti(crypto.randomUUID())
      .setIssuedAt(now).setExpirationTime(now + lifeSeconds).sign(key.privateKey);
  }
  const signOwn = (
    subject: string,
    claims: Record<string, unknown>,
    lifeSeconds: number = ACCESS_TOKEN_SECONDS,
  ) =>
    signed(own, {
      typ: ACCESS_TYPE,
      audience: o.audience,
      subject,
      lifeSeconds,
      claims,
    });
  const verifying = { keyOf, issuer: o.issuer, seconds };

  return {
    sign: ({ sub, sid, tenantId, ver, act, lifeSeconds }) =>
      signOwn(
        sub,
        { sid, ver, ...(tenantId ? { tenant_id: tenantId } : {}), ...(act ? { act: { sub: act } } : {}) },
        lifeSeconds,
      ),
    signForAccount: ({ accountId, clientId, secretVersion, lifeSeconds }) =>
      signOwn(accountId, { client_id: clientId, ver: secretVersion }, lifeSeconds),
    async verify(token) {
      const known = cache.get(token);
      if (known) {
        if (known.exp > seconds()) return known;
        cache.delete(token);
        throw tokenExpired();
      }
      const claims = accessClaims(
        await verified(token, { ...verifying, typ: ACCESS_TYPE, audience: o.audience, only: OWN_ALGORITHM }),
      );
      remember(cache, token, claims);
      return claims;
    },
    async verifyForAny(token) {
      const known = cacheForAny.get(token);
      if (known) {
        if (known.exp > seconds()) return known;
        cacheForAny.delete(token);
        throw tokenExpired();
      }
      const claims = { exp: 0, ...await verified(token, { ...verifying, typ: ACCESS_TYPE }) };
      if (claims.aud === o.audience && decodeProtectedHeader(token).alg !== OWN_ALGORITHM) {
        throw new TokenRefused("TOKEN_INVALID", "The token for this service has another algorithm.");
      }
      remember(cacheForAny, token, claims);
      return claims;
    },
    issue: async (token) => await signed(await signer(token.algorithm), token),
    verifyIssued: (token, typ, { evenIfExpired } = { evenIfExpired: false }) =>
      verified(token, { ...verifying, typ, evenIfExpired }),
    hasProviderKey: o.lateKeys !== undefined || given.some(({ algorithm }) => algorithm === "RS256"),
    publicKeys: async () => ({ keys: (await allKeys()).map(({ publicJwk }) => publicJwk) }),
  };
}

function remember<V>(cache: Map<string, V>, token: string, claims: V): void {
  if (cache.size >= MAX_CACHED) cache.delete(cache.keys().next().value ?? "");
  cache.set(token, claims);
}

const readKeys = async (read: () => Promise<JWK[]>): Promise<SigningKey[]> =>
  await Promise.all((await read()).filter((jwk) => algorithmOf(jwk) === "RS256").map(readSigningKey));

const tokenExpired = () => new TokenRefused("TOKEN_EXPIRED", "The access token has expired.");

/** Checks and converts the claims of an access token. @throws TokenRefused for invalid claims */
export function accessClaims(
  { sub, sid = null, ver, exp = 0, tenant_id: tenantId = null }: JWTPayload,
): AccessClaims {
  const fits = isUuid(sub) && (sid === null || isUuid(sid)) && Number.isSafeInteger(ver) &&
    (tenantId === null || isUuid(tenantId));
  if (fits) return { sub, sid, ver: ver as number, tenantId, exp };
  throw new TokenRefused("TOKEN_INVALID", "The access token's claims are invalid.");
}

interface Verifying {
  keyOf: (kid: string | undefined) => Promise<SigningKey | undefined>;
  issuer: () => string;
  seconds: () => number;
  typ: IssuedToken["typ"];
  audience?: string;
  /** The only accepted algorithm; absent: that of the key. */
  only?: SigningAlgorithm;
  evenIfExpired?: boolean;
}

/** The claims of a token. The key decides the algorithm; the token's own header never does. */
async function verified(token: string, o: Verifying): Promise<JWTPayload> {
  const now = o.seconds();
  try {
    const key = await o.keyOf(decodeProtectedHeader(token).kid);
    if (!key || o.only && key.algorithm !== o.only) {
      throw new TokenRefused("TOKEN_INVALID", "The token names a key this service does not have.");
    }
    const { payload } = await jwtVerify(token, key.publicKey, {
      algorithms: [key.algorithm],
      typ: o.typ,
      issuer: o.issuer(),
      ...o.audience === undefined ? {} : { audience: o.audience },
      requiredClaims: ["sub", "aud", "iat", "exp", "jti"],
      clockTolerance: o.evenIfExpired ? Number.MAX_SAFE_INTEGER / 2 : TOLERANCE_SECONDS,
      currentDate: new Date(now * 1000),
    });
    const { iat, exp = 0 } = payload;
    if (exp <= now && !o.evenIfExpired) throw tokenExpired(); // the library's tolerance also applies to `exp`
    if ((iat ?? Infinity) > now + TOLERANCE_SECONDS) {
      throw new TokenRefused("TOKEN_INVALID", "The token was issued in the future.");
    }
    return payload;
  } catch (error) {
    if (error instanceof TokenRefused) throw error;
    if (error instanceof errors.JWTExpired) throw tokenExpired();
    throw new TokenRefused("TOKEN_INVALID", "The token is malformed, forged, or meant for another service.");
  }
}
