import { availableParallelism } from "node:os";

/** OWASP's recommendation for argon2id: 19 MiB, two passes, one lane. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const PREFIX =
  `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$`;
const unpadded = (text: string) => btoa(text).replace(/=+$/, "");
/** A hash of the same cost that no password matches. */
const DECOY = `${PREFIX}${unpadded("nobody's account")}$${unpadded("\0".repeat(32))}`;
/** Maximum concurrent hashes. Each uses a whole CPU core, and one core stays free for requests. */
const CONCURRENCY = Math.max(1, availableParallelism() - 1);

/** The native modules are loaded with the first password, so the service starts without them. */
const argon2 = () => import("@node-rs/argon2");
const bcrypt = () => import("@node-rs/bcrypt");

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= CONCURRENCY) await new Promise<void>((go) => waiting.push(go));
  else running++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

/** Number of hashes that wait in this process's queue. */
export const hashesWaiting = (): number => waiting.length;

/** Returns the argon2id hash of a password as a PHC string. */
export const hashPassword = (password: string): Promise<string> =>
  inTurn(async () => (await argon2()).hash(password, PARAMETERS));

/**
 * True if `password` matches `stored`, a hash by argon2 (PHC string) or bcrypt (crypt string), also of another system.
 */
export const verifyPassword = (stored: string, password: string): Promise<boolean> =>
  inTurn(async () =>
    stored.startsWith("$2")
      ? (await bcrypt()).verify(password, stored)
      : (await argon2()).verify(stored, password)
  );

/** True if `stored` uses another algorithm or cost than `hashPassword`. */
export const needsRehash = (stored: string): boolean => !stored.startsWith(PREFIX);

/** For unknown emails: takes as long as `verifyPassword` and always returns false. */
export async function verifyDecoy(password: string): Promise<false> {
  await verifyPassword(DECOY, password);
  return false;
}
