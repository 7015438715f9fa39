import { hash, verify } from "@node-rs/argon2";
import { availableParallelism } from "node:os";

/** OWASP's first choice for argon2id: 19 MiB, two passes, one lane. */
const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** At most this many hashes at once: each takes a whole core, and requests need one too. */
const AT_ONCE = Math.max(1, availableParallelism() - 1);

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

/** The argon2id PHC string of a plain password. */
export const hashPassword = (password: string): Promise<string> => inTurn(() => hash(password, PARAMETERS));

/** Does `password` match the argon2 PHC string `phc`? */
export const verifyPassword = (phc: string, password: string): Promise<boolean> =>
  inTurn(() => verify(phc, password));

let decoy: Promise<string> | undefined;

/** Takes as long as a real verification and is always false: for emails nobody has. */
export async function verifyNothing(password: string): Promise<false> {
  decoy ??= hashPassword(crypto.randomUUID());
  await verifyPassword(await decoy, password);
  return false;
}
