import { availableParallelism } from "node:os";
import { parseForeignHash } from "./foreign_hashes.ts";
import { HashThreads } from "./hash_threads.ts";

/** Cost of new hashes: OWASP's recommendation for argon2id is 19 MiB, two passes, one lane. Tests lower it. */
export const HASH_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const prefix = () =>
  `$argon2id$v=19$m=${HASH_COST.memoryCost},t=${HASH_COST.timeCost},p=${HASH_COST.parallelism}$`;
const unpadded = (text: string) => btoa(text).replace(/=+$/, "");
/** A hash of the same cost that no password matches. */
const decoy = () => `${prefix()}${unpadded("nobody's account")}$${unpadded("\0".repeat(32))}`;
/** Maximum concurrent hashes. Each uses a whole CPU core, and one core stays free for requests. */
const HASH_THREADS = Math.max(1, availableParallelism() - 1);

/**
 * Cost limits for imported hashes: about one second of a core, two for the costliest scrypt. A more expensive hash would
 * let each sign-in of its user overload the service. Hashes that were stored before a limit are verified anyway.
 */
const MAX_ARGON2 = { memoryKiB: 262_144, passes: 20, lanes: 16, memoryTimesPasses: 3 * 262_144 };
const MAX_BCRYPT_COST = 14;
const MAX_SCRYPT_BYTES = 256 * 1024 * 1024;

const ARGON2 =
  /^\$argon2(?:id|i|d)\$(?:v=(?:16|19)\$)?m=([1-9]\d{0,6}),t=([1-9]\d{0,2}),p=([1-9]\d{0,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{16,86})$/;
const BCRYPT = /^\$2[abxy]\$(\d\d)\$[./A-Za-z0-9]{53}$/;

const threads = new HashThreads(HASH_THREADS);

/** Number of hashes that wait in this process's queue. */
export const hashesWaiting = (): number => threads.waiting;

/**
 * The form in which passwords are hashed (RFC 8265): a letter with an accent is one character or two, depending on the
 * keyboard or program.
 */
const composed = (password: string): string => password.normalize("NFC");

/** Returns the argon2id hash of a password as a PHC string. */
export const hashPassword = (password: string): Promise<string> =>
  threads.run({ do: "hash", password: composed(password), options: HASH_COST });

/** Hashes a password at the start of the service, without a thread: it would stay in the memory of an idle service. */
export const hashPasswordAtStart = async (password: string): Promise<string> =>
  (await import("@node-rs/argon2")).hash(composed(password), HASH_COST);

/**
 * True if `password` matches `stored`, a hash by argon2 (PHC string) or bcrypt (crypt string), or a foreign hash by
 * scrypt or PBKDF2. A hash made elsewhere may also be of the password as it was typed.
 */
export const verifyPassword = (stored: string, password: string): Promise<boolean> =>
  threads.run(
    { do: "verify", stored, passwords: [...new Set([composed(password), password])] },
    { isLong: needsRehash(stored) },
  );

/** Description of the hashes that `isAcceptedHash` accepts, for messages. */
export const ACCEPTED_HASHES =
  "a hash by argon2, bcrypt, scrypt (PHC, Django, Firebase) or PBKDF2 (PHC, Django, ASP.NET Identity 3), up to 256 MiB of memory (argon2: 20 passes, and memory times passes up to 768 MiB; scrypt: memory times lanes up to 256 MiB), bcrypt cost 14 and 2,000,000 rounds of PBKDF2";

/** True if an imported hash has a format and cost that `verifyPassword` accepts. */
export function isAcceptedHash(hash: string): boolean {
  const bcrypt = BCRYPT.exec(hash);
  if (bcrypt) return Number(bcrypt[1]) >= 4 && Number(bcrypt[1]) <= MAX_BCRYPT_COST;
  const argon2 = ARGON2.exec(hash);
  if (!argon2) return isAcceptedForeignHash(hash);
  const [memoryKiB = 0, passes = 0, lanes = 0] = argon2.slice(1, 4).map(Number);
  return memoryKiB >= 8 * lanes && memoryKiB <= MAX_ARGON2.memoryKiB && passes <= MAX_ARGON2.passes &&
    memoryKiB * passes <= MAX_ARGON2.memoryTimesPasses && lanes <= MAX_ARGON2.lanes &&
    argon2.slice(4).every(isBase64);
}

function isAcceptedForeignHash(hash: string): boolean {
  const foreign = parseForeignHash(hash);
  if (foreign?.method !== "scrypt") return foreign !== null;
  return 128 * foreign.cost * foreign.blockSize * foreign.lanes <= MAX_SCRYPT_BYTES;
}

/** True if `text` is canonical base64 without padding. A hash with any other text could never be verified. */
function isBase64(text: string): boolean {
  return text.length % 4 !== 1 && btoa(atob(text)).replace(/=+$/, "") === text;
}

/** True if `stored` uses another algorithm or cost than `hashPassword`. */
export const needsRehash = (stored: string): boolean => !stored.startsWith(prefix());

/** Takes as long as `verifyPassword` and returns false. It is called for unknown emails, so that they get no faster answer. */
export async function verifyDecoy(password: string): Promise<false> {
  await verifyPassword(decoy(), password);
  return false;
}
