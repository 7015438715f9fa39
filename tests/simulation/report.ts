// What is printed of a seed that broke a rule.
import type { Result, RunOptions } from "./simulation.ts";

/** How often a shorter run is tried. */
const TRIES = 8;
const LAST_STEPS = 40;
const LAST_CHANGES = 60;

/** Finds, by trying, a run with less trouble that breaks the same rule. */
export async function shorten(result: Result, run: (o: RunOptions) => Promise<Result>): Promise<Result> {
  const { seed, violations: [broken] } = result;
  let shortest = result;
  let [low, high] = [0, result.troubleSteps];
  for (let n = 0; n < TRIES && low < high; n++) {
    const troubleSteps = Math.floor((low + high) / 2);
    const shorter = await run({ seed, troubleSteps });
    if (shorter.violations[0]?.rule === broken?.rule) {
      high = troubleSteps;
      if (shorter.steps <= shortest.steps) shortest = shorter;
    } else low = troubleSteps + 1;
  }
  return shortest;
}

/** @param isWhole false: only the end of the trace and the history */
export function describe(
  { seed, violations, steps, troubleSteps, trace, history, hash }: Result,
  isWhole: boolean,
): string {
  const last = (lines: string[], n: number) => isWhole ? lines : lines.slice(-n);
  return [
    `seed ${seed}: ${violations.length === 0 ? "no rule was broken" : "A RULE WAS BROKEN"}`,
    ...violations.map(({ rule, what }) => `  ${rule}: ${what}`),
    `  after ${steps} steps, ${troubleSteps} of them with trouble; hash of the history ${hash}`,
    ...last(trace, LAST_STEPS),
    "committed changes:",
    ...last(history, LAST_CHANGES),
    `repeat it: deno task simulate --seed ${seed} --trace`,
  ].join("\n");
}
