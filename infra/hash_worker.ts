// Worker thread that hashes and verifies passwords, one after the other. The task that follows is already in its queue of
// messages, so it starts at once, however busy the main thread is.
import { parentPort } from "node:worker_threads";
import { hashSync, type Options, verifySync } from "@node-rs/argon2";
import { matchesForeignHash, parseForeignHash } from "./foreign_hashes.ts";

/** Hash by argon2; or whether any of `passwords` has the hash `stored`. */
export type HashTask =
  | { do: "hash"; password: string; options: Options }
  | { do: "verify"; stored: string; passwords: string[] };

export type HashResult<T extends HashTask> = T extends { do: "hash" } ? string : boolean;

/** The answers have the order of the tasks. */
export type FromHashWorker = { done: HashResult<HashTask> } | { failed: string };

/** The check of a password by the algorithm of the hash. Few services have hashes by bcrypt, so it is loaded late. */
async function matcherOf(stored: string): Promise<(password: string) => boolean> {
  if (stored.startsWith("$2")) {
    const bcrypt = await import("@node-rs/bcrypt");
    return (password) => bcrypt.verifySync(password, stored);
  }
  const foreign = parseForeignHash(stored);
  return (password) => foreign ? matchesForeignHash(foreign, password) : verifySync(stored, password);
}

async function answer(task: HashTask): Promise<FromHashWorker> {
  try {
    return {
      done: task.do === "hash"
        ? hashSync(task.password, task.options)
        : task.passwords.some(await matcherOf(task.stored)),
    };
  } catch (error) {
    return { failed: error instanceof Error ? error.message : String(error) };
  }
}

/** The tasks so far. Each waits for those before it, also while bcrypt is loaded. */
let earlier = Promise.resolve();
parentPort?.on("message", (task: HashTask) => {
  earlier = earlier.then(async () => parentPort?.postMessage(await answer(task)));
});
