import { availableParallelism } from "node:os";

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
const PREFIX =
  `$argon2id$v=19$m=${PARAMETERS.memoryCost},t=${PARAMETERS.timeCost},p=${PARAMETERS.parallelism}$`;
const unpadded = (text: string) => btoa(text).replace(/=+$/, "");
/** A hash of the same cost as ours that no password has. */
const DECOY = `${PREFIX}${unpadded("nobody's account")}$${unpadded("\0".repeat(32))}`;
/** At most this many hashes at once: each takes a whole core, and requests need one too. */
const AT_ONCE = Math.max(1, availableParallelism() - 1);

/** Native code is loaded when the first password comes, so that a start needs none of it. */
const argon2 = () => import("@node-rs/argon2");
const bcrypt = () => import("@node-rs/bcrypt");

let running = 0;
const waiting: (() => void)[] = [];

async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) await new Promise<void>((go) => waiting.push(go));
  else running++;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

/** How many hashes wait for their turn in this process. */
export const hashesWaiting = (): number => waiting.length;

/** The argon2id PHC string of a plain password. */
export const hashPassword = (password: string): Promise<string> =>
  inTurn(async () => (await argon2()).hash(password, PARAMETERS));

/** Does `password` match `stored`, a hash of argon2 (PHC) or bcrypt (crypt) made here or elsewhere? */
export const verifyPassword = (stored: string, password: string): Promise<boolean> =>
  inTurn(async () =>
    stored.startsWith("$2")
      ? (await bcrypt()).verify(password, stored)
      : (await argon2()).verify(stored, password)
  );

/** Was `stored` made elsewhere, or at another cost than hashes are made now? */
export const needsRehash = (stored: string): boolean => !stored.startsWith(PREFIX);

/** Takes as long as a real verification and is always false: for emails nobody has. */
export async function verifyDecoy(password: string): Promise<false> {
  await verifyPassword(DECOY, password);
  return false;
}
