import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from "jose";
import { join } from "node:path";

/** EdDSA (Ed25519) signs the service's own tokens. RS256 signs ID tokens, because every OpenID client verifies it. */
export type SigningAlgorithm = "EdDSA" | "RS256";

/** The members of a private RSA key besides `kty`; those from `d` on are secret. */
const RSA_PUBLIC = ["n", "e"] as const;
const RSA_PRIVATE = ["d", "p", "q", "dp", "dq", "qi"] as const;
/** Accepted at least; OpenID asks for it. */
const LEAST_RSA_BITS = 2048;
/** Of new keys: 128 bits of security. */
const NEW_RSA_BITS = 3072;

/** One key that signs and verifies tokens. */
export interface SigningKey {
  kid: string;
  algorithm: SigningAlgorithm;
  privateKey: CryptoKey | Uint8Array;
  publicKey: CryptoKey | Uint8Array;
  /** For `/.well-known/jwks.json`. */
  publicJwk: JWK;
}

/** The algorithm of a private key; null if it is not a complete Ed25519 or RSA key (of at least 2048 bits). */
export function algorithmOf(jwk: JWK): SigningAlgorithm | null {
  if (jwk.kty === "OKP") return jwk.crv === "Ed25519" && jwk.d && jwk.x ? "EdDSA" : null;
  if (jwk.kty !== "RSA") return null;
  const isComplete = [...RSA_PUBLIC, ...RSA_PRIVATE].every((member) => jwk[member]);
  return isComplete && (jwk.n ?? "").length * 6 >= LEAST_RSA_BITS ? "RS256" : null;
}

/** Imports a private key. @throws Error if `algorithmOf` it is null */
export async function readSigningKey(jwk: JWK): Promise<SigningKey> {
  const algorithm = algorithmOf(jwk);
  if (!algorithm) {
    throw new Error(
      "a token key is neither an Ed25519 private JWK (kty OKP, crv Ed25519, with d and x) nor an RSA private JWK of " +
        `at least ${LEAST_RSA_BITS} bits (kty RSA, with n, e, d, p, q, dp, dq and qi)`,
    );
  }
  const { publicPart, privatePart } = partsOf(jwk, algorithm);
  const kid = jwk.kid ?? await calculateJwkThumbprint(publicPart);
  return {
    kid,
    algorithm,
    privateKey: await importJWK({ ...publicPart, ...privatePart }, algorithm),
    publicKey: await importJWK(publicPart, algorithm),
    publicJwk: { ...publicPart, kid, alg: algorithm, use: "sig" },
  };
}

/** Takes only the known members, so that no secret one can reach the published key. */
function partsOf(jwk: JWK, algorithm: SigningAlgorithm): { publicPart: JWK; privatePart: JWK } {
  const pick = (members: readonly (keyof JWK)[]): JWK =>
    Object.fromEntries(members.map((member) => [member, jwk[member]]));
  return algorithm === "EdDSA"
    ? { publicPart: pick(["kty", "crv", "x"]), privatePart: pick(["d"]) }
    : { publicPart: pick(["kty", ...RSA_PUBLIC]), privatePart: pick(RSA_PRIVATE) };
}

/** A new private key for `TOKEN_KEYS`. An RSA key takes about a second. */
export async function generateTokenKey(algorithm: SigningAlgorithm = "EdDSA"): Promise<JWK> {
  const { privateKey } = algorithm === "EdDSA"
    ? await generateKeyPair(algorithm, { crv: "Ed25519", extractable: true })
    : await generateKeyPair(algorithm, { modulusLength: NEW_RSA_BITS, extractable: true });
  const { key_ops: _, ext: __, ...jwk } = await exportJWK(privateKey) as JWK & { ext?: boolean };
  return { ...jwk, kid: await calculateJwkThumbprint(jwk) };
}

/** One step of a key rotation. */
export type RotationStep = "now" | "announce" | "promote" | "retire" | "add-rs256";

/**
 * Returns the token keys after one rotation step. Each algorithm rotates by itself; the first key of each signs.
 * - `now`: adds a new key that signs. The current key still verifies. Older keys are removed.
 * - `announce`: adds a new key that only verifies, so that every instance can load it first.
 * - `promote`: the announced key signs. The current key still verifies.
 * - `retire`: removes all keys but the signing key.
 * - `add-rs256`: adds the key of the OpenID provider; changes nothing else.
 * @throws Error for `promote` without a second key, and for `add-rs256` if there is such a key.
 */
export async function rotateTokenKeys(keys: JWK[], step: RotationStep): Promise<JWK[]> {
  const ofKind = (algorithm: SigningAlgorithm) => keys.filter((key) => algorithmOf(key) === algorithm);
  const [own, provider] = [ofKind("EdDSA"), ofKind("RS256")];
  if (step === "add-rs256") {
    if (provider.length > 0) throw new Error("there is an RS256 key already");
    return [...own, await generateTokenKey("RS256")];
  }
  return [
    ...await rotated(own, step, "EdDSA"),
    ...provider.length > 0 ? await rotated(provider, step, "RS256") : [],
  ];
}

async function rotated(
  keys: JWK[],
  step: Exclude<RotationStep, "add-rs256">,
  algorithm: SigningAlgorithm,
): Promise<JWK[]> {
  const present = keys.slice(0, 1);
  switch (step) {
    case "now":
      return [await generateTokenKey(algorithm), ...present];
    case "announce":
      return [...present, await generateTokenKey(algorithm)];
    case "promote":
      if (!keys[1]) throw new Error(`there is no second ${algorithm} key to promote; announce one first`);
      return [keys[1], ...present];
    case "retire":
      return present;
  }
}

/** Development: each algorithm has a file. The RSA key is slow to create, so it is created at its first use. */
const keyFile = (dir: string, algorithm: SigningAlgorithm) =>
  join(dir, algorithm === "EdDSA" ? "token-keys.json" : "token-keys-rs256.json");

/** Development: reads the keys of an algorithm from `dir`; creates them at their first use. */
export async function readOrCreateTokenKeys(
  dir: string,
  algorithm: SigningAlgorithm = "EdDSA",
): Promise<JWK[]> {
  const known = await readTokenKeys(dir, algorithm);
  if (known) return known;
  const keys = [await generateTokenKey(algorithm)];
  const part = await writePart(dir, algorithm, keys);
  try {
    await Deno.link(part, keyFile(dir, algorithm)); // fails if another instance was faster
    return keys;
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    return await readOrCreateTokenKeys(dir, algorithm);
  } finally {
    await Deno.remove(part);
  }
}

/** Development: reads the keys of an algorithm from `dir`; null if there are none. */
export async function readTokenKeys(dir: string, algorithm: SigningAlgorithm): Promise<JWK[] | null> {
  try {
    return JSON.parse(await Deno.readTextFile(keyFile(dir, algorithm)));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** Writes the development keys, each file atomically. Only the owner may read the files. */
export async function writeTokenKeys(dir: string, keys: JWK[]): Promise<void> {
  for (const [algorithm, ofKind] of Map.groupBy(keys, (key) => algorithmOf(key) ?? "EdDSA")) {
    await Deno.rename(await writePart(dir, algorithm, ofKind), keyFile(dir, algorithm));
  }
}

async function writePart(dir: string, algorithm: SigningAlgorithm, keys: JWK[]): Promise<string> {
  const part = `${keyFile(dir, algorithm)}.${crypto.randomUUID()}.part`;
  await Deno.writeTextFile(part, JSON.stringify(keys), { mode: 0o600 });
  return part;
}
