import { setTimeout as pause } from "node:timers/promises";

const FIRST_PAUSE_MS = 30;
const LONGEST_PAUSE_MS = 300;

/** Each describes a running service, for the message of a vain wait. */
const describers = new Set<() => Promise<string>>();

/** Adds what `describe` returns to the message of every vain wait. @returns ends that */
export function explainVainWaits(describe: () => Promise<string>): () => void {
  describers.add(describe);
  return () => describers.delete(describe);
}

/** The error of a wait that ended without what was awaited, with the states of the running services. */
export async function vainWait(message: string): Promise<Error> {
  const states = await Promise.all([...describers].map((describe) => describe().catch(String)));
  return new Error([message, ...states].join("\n"));
}

/**
 * Asks until `isDone` accepts the answer, and returns that answer. The pause between two questions is a quarter of the time
 * so far, because asking takes processor time from what is awaited.
 * @param isDone default: the answer is true, or any value that counts as true
 * @param o.what what is awaited, for the error message
 * @throws after `withinMs`, with the last answer in the message
 */
export async function until<T>(
  ask: () => T | Promise<T>,
  isDone: (answer: T) => unknown = Boolean,
  o: { what?: string; withinMs?: number } = {},
): Promise<T> {
  const { what = "the expected state", withinMs = 120_000 } = o;
  for (const since = performance.now();;) {
    const answer = await ask();
    if (isDone(answer)) return answer;
    if (performance.now() - since > withinMs) {
      throw await vainWait(
        `${what} was not reached within ${withinMs} ms; last answer: ${JSON.stringify(answer)}`,
      );
    }
    await pause(Math.min(Math.max((performance.now() - since) / 4, FIRST_PAUSE_MS), LONGEST_PAUSE_MS));
  }
}
