import { RE2JS } from "re2js";

/** What a check may cost, in units of some ten nanoseconds: a fraction of a second. */
const BUDGET = 30_000_000;

/** Thrown when a check costs more than its budget. */
export class CheckTooCostly extends Error {
  override name = "CheckTooCostly";
}

/** What the running check may still cost. A check does not wait, so there is one at a time. */
let left = 0;

/** Runs a check that calls `spend`. @throws CheckTooCostly */
export function withBudget<T>(check: () => T): T {
  left = BUDGET;
  return check();
}

export function spend(cost: number): void {
  left -= cost;
  if (left < 0) throw new CheckTooCostly("the check costs too much");
}

/** Compiles a pattern that is matched in linear time. @throws Error for syntax that RE2 does not have */
export const linearPattern = Object.assign((pattern: string) => {
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return {
    test(text: string) {
      spend(text.length * pattern.length);
      return compiled.matcher(text).find();
    },
    /** The validator tells patterns apart by it. */
    toString: () => pattern,
  };
}, { code: "linearPattern" });
