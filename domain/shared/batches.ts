import { FIRST_ID } from "./ids.ts";

/** Runs batches until one has fewer rows than `limit`. @returns the number of rows of all */
export async function runBatches(limit: number, batch: () => Promise<number>): Promise<number> {
  for (let total = 0;;) {
    const rows = await batch();
    total += rows;
    if (rows < limit) return total;
  }
}

/**
 * Passes over rows in the order of their ids, until a batch has fewer rows than `limit`.
 * @param batch handles and returns at most `limit` rows with an id after the given one
 * @returns the number of rows of all batches
 */
export async function passOver(
  limit: number,
  batch: (after: string) => Promise<readonly { id: string }[]>,
): Promise<number> {
  let after = FIRST_ID;
  return await runBatches(limit, async () => {
    const rows = await batch(after);
    after = rows.at(-1)?.id ?? after;
    return rows.length;
  });
}

/** Repeats a bounded statement until it changes no further row. @returns the number of rows of all */
export const untilDone = (step: () => Promise<{ count: number }>): Promise<number> =>
  runBatches(1, async () => (await step()).count);
