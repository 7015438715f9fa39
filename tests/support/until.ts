import { setTimeout as pause } from "node:timers/promises";

const FIRST_PAUSE_MS = 30;
const LONGEST_PAUSE_MS = 300;

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
      throw new Error(
        `${what} was not reached within ${withinMs} ms; last answer: ${JSON.stringify(answer)}`,
      );
    }
    await pause(Math.min(Math.max((performance.now() - since) / 4, FIRST_PAUSE_MS), LONGEST_PAUSE_MS));
  }
}
