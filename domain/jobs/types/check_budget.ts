import { RE2JS } from "re2js";

/** Maximum cost of a check, in units of about ten nanoseconds: a fraction of a second. */
const BUDGET = 30_000_000;

/** Thrown when a check costs more than its budget. */
export class CheckTooCostly extends Error {
  override name = "CheckTooCostly";
}

/** The rest of the running check's budget. A check is synchronous, so only one runs at a time. */
let left = 0;

/** Runs a check that calls `spend`. @throws CheckTooCostly */
export function withBudget<T>(check: () => T): T {
  left = BUDGET;
  return check();
}

/** Takes `cost` from the budget of the running check. @throws CheckTooCostly */
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
