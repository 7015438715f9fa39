// Password hashes of other systems by scrypt and PBKDF2. They are only verified: a good sign-in replaces them.
import { createCipheriv, pbkdf2Sync, scryptSync, timingSafeEqual } from "node:crypto";

/** Cost limits. A more expensive hash would let each sign-in of its user overload the service. */
const MAX_MEMORY_BYTES = 256 * 1024 * 1024;
const MAX_LANES = 16;
const MAX_ROUNDS = 2_000_000;
/** Limits of the lengths in bytes. */
const HASH = { min: 16, max: 128 };
const MAX_SALT = 256;

/** A parsed scrypt hash. */
interface ScryptHash {
  method: "scrypt";
  cost: number;
  blockSize: number;
  lanes: number;
  salt: Uint8Array;
  hash: Uint8Array;
  /** Firebase encrypts this key with what scrypt derives; null: plain scrypt. */
  signerKey: Uint8Array | null;
}

/** A parsed PBKDF2 hash. */
interface Pbkdf2Hash {
  method: "pbkdf2";
  digest: keyof typeof DIGEST_BYTES;
  rounds: number;
  salt: Uint8Array;
  hash: Uint8Array;
}

export type ForeignHash = ScryptHash | Pbkdf2Hash;

const DIGEST_BYTES = { sha1: 20, sha256: 32, sha512: 64 };
/** The digests by their numbers in ASP.NET Identity. */
const ASP_NET_DIGESTS = ["sha1", "sha256", "sha512"] as const;

type Parser = (match: string[]) => ForeignHash | null;

/** The accepted formats. Base64 is checked in `bytesOf`. */
const FORMATS: [pattern: RegExp, parse: Parser][] = [
  // PHC, as passlib and others write it: $scrypt$ln=14,r=8,p=1$salt$hash
  [
    /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([^$]*)\$([^$]+)$/,
    ([, ln, r, p, salt, hash]) => scryptHash(2 ** Number(ln), r, p, bytesOf(salt), bytesOf(hash)),
  ],
  // Django: scrypt$16384$salt$8$5$hash; the salt is text
  [
    /^scrypt\$(\d{1,8})\$([^$]*)\$(\d{1,3})\$(\d{1,3})\$([^$]+)$/,
    ([, n, salt, r, p, hash]) => scryptHash(Number(n), r, p, textBytes(salt), bytesOf(hash)),
  ],
  // Firebase's variant of scrypt, with the parameters of the project
  [
    /^\$firebase-scrypt\$([^$]+)\$([^$]*)\$([^$]+)$/,
    ([, parameters, salt, hash]) => firebaseHash(parameters ?? "", salt, hash),
  ],
  // PHC: $pbkdf2-sha256$i=310000$salt$hash; passlib: $pbkdf2-sha256$29000$salt$hash
  [
    /^\$pbkdf2(?:-(sha1|sha256|sha512))?\$(?:i=)?(\d{1,8})(?:,l=\d{1,3})?\$([^$]*)\$([^$]+)$/,
    ([, digest, rounds, salt, hash]) => pbkdf2Hash(digest ?? "sha1", rounds, bytesOf(salt), bytesOf(hash)),
  ],
  // Django: pbkdf2_sha256$1000000$salt$hash; the salt is text
  [
    /^pbkdf2_(sha1|sha256|sha512)\$(\d{1,8})\$([^$]*)\$([^$]+)$/,
    ([, digest, rounds, salt, hash]) => pbkdf2Hash(digest, rounds, textBytes(salt), bytesOf(hash)),
  ],
  // ASP.NET Identity version 3: base64 of 1, digest, rounds, salt length (big-endian numbers of 4 bytes), salt, hash
  [/^AQAAAA[A-Za-z0-9+/]+={0,2}$/, ([text]) => aspNetHash(text)],
];

/** The parts of a hash by scrypt or PBKDF2; null if it has no accepted format, or exceeds a limit. */
export function parseForeignHash(stored: string): ForeignHash | null {
  for (const [pattern, parse] of FORMATS) {
    const match = pattern.exec(stored);
    if (match) return parse(match);
  }
  return null;
}

/** True if `password` has this hash. Takes up to seconds, so only a hash thread calls it. */
export const matchesForeignHash = (foreign: ForeignHash, password: string): boolean =>
  timingSafeEqual(derive(foreign, password), foreign.hash);

function derive(foreign: ForeignHash, password: string): Uint8Array {
  const { salt, hash } = foreign;
  if (foreign.method === "pbkdf2") {
    return pbkdf2Sync(password, salt, foreign.rounds, hash.length, foreign.digest);
  }
  const { cost: N, blockSize: r, lanes: p, signerKey } = foreign;
  const length = signerKey ? 32 : hash.length;
  const derived = scryptSync(password, salt, length, { N, r, p, maxmem: 2 * MAX_MEMORY_BYTES });
  return signerKey ? createCipheriv("aes-256-ctr", derived, new Uint8Array(16)).update(signerKey) : derived;
}

function scryptHash(
  cost: number,
  r: string | undefined,
  p: string | undefined,
  salt: Uint8Array | null,
  hash: Uint8Array | null,
  signerKey: Uint8Array | null = null,
): ScryptHash | null {
  const [blockSize, lanes] = [Number(r), Number(p)];
  const isPowerOfTwo = cost > 1 && Number.isInteger(Math.log2(cost));
  if (!isPowerOfTwo || blockSize < 1 || lanes < 1 || lanes > MAX_LANES) return null;
  if (128 * cost * blockSize > MAX_MEMORY_BYTES || !salt || !hash || !hasGoodLengths(salt, hash)) return null;
  return { method: "scrypt", cost, blockSize, lanes, salt, hash, signerKey };
}

/** @param parameters `r=…,m=…,ss=…,sk=…` in any order: rounds, memory cost, salt separator and signer key of the project */
function firebaseHash(parameters: string, salt?: string, hash?: string): ScryptHash | null {
  const given = new Map(
    parameters.split(",").map((part) => [
      part.slice(0, part.indexOf("=")),
      part.slice(part.indexOf("=") + 1),
    ]),
  );
  const [separator, signerKey, saltBytes] = [given.get("ss"), given.get("sk"), salt].map(bytesOf);
  const [r, m] = [given.get("r") ?? "", given.get("m") ?? ""];
  if (given.size !== 4 || !/^\d{1,3}$/.test(r) || !/^\d{1,2}$/.test(m)) return null;
  if (!separator || !signerKey || !saltBytes) return null;
  const parsed = scryptHash(
    2 ** Number(m),
    r,
    "1",
    new Uint8Array([...saltBytes, ...separator]),
    bytesOf(hash),
    signerKey,
  );
  return parsed?.hash.length === signerKey.length ? parsed : null;
}

function pbkdf2Hash(
  digest: string | undefined,
  roundsText: string | undefined,
  salt: Uint8Array | null,
  hash: Uint8Array | null,
): Pbkdf2Hash | null {
  const rounds = Number(roundsText);
  if (!isDigest(digest) || !salt || !hash || !hasGoodLengths(salt, hash)) return null;
  // A hash longer than the digest repeats all rounds for each further block.
  const blocks = Math.ceil(hash.length / DIGEST_BYTES[digest]);
  if (rounds < 1 || rounds * blocks > MAX_ROUNDS) return null;
  return { method: "pbkdf2", digest, rounds, salt, hash };
}

const isDigest = (name: string | undefined): name is Pbkdf2Hash["digest"] =>
  name !== undefined && Object.hasOwn(DIGEST_BYTES, name);

function aspNetHash(text: string | undefined): Pbkdf2Hash | null {
  const bytes = bytesOf(text);
  if (!bytes || bytes.length < 13) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const saltEnd = 13 + view.getUint32(9);
  if (saltEnd > bytes.length) return null;
  return pbkdf2Hash(
    ASP_NET_DIGESTS[view.getUint32(1)],
    String(view.getUint32(5)),
    bytes.subarray(13, saltEnd),
    bytes.subarray(saltEnd),
  );
}

const hasGoodLengths = (salt: Uint8Array, hash: Uint8Array): boolean =>
  salt.length <= MAX_SALT && hash.length >= HASH.min && hash.length <= HASH.max;

const textBytes = (text = ""): Uint8Array => new TextEncoder().encode(text);

/** Decodes base64 with or without padding, also as passlib (`.` for `+`) and URLs (`-_`) write it; null if malformed. */
function bytesOf(text = ""): Uint8Array | null {
  const unpadded = text.replace(/={0,2}$/, "").replaceAll(/[.-]/g, "+").replaceAll("_", "/");
  if (!/^[A-Za-z0-9+/]*$/.test(unpadded) || unpadded.length % 4 === 1) return null;
  return Uint8Array.from(atob(unpadded), (char) => char.charCodeAt(0));
}
