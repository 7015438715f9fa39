import type { Budget } from "../budget.ts";

/** What a filter may know besides its value and arguments. */
export interface FilterContext {
  /** Canonical BCP 47 tag of the template. */
  locale: string;
  budget: Budget;
}

/**
 * One filter. `check` names what is wrong with the arguments, or answers null; it runs once when the template is
 * compiled if all of them are literals (which also prepares formatters outside of the render's time), else at each
 * render. `apply` must not call methods of the value and pays for long work through the budget.
 */
export interface Filter {
  minArguments: number;
  maxArguments: number;
  check?(args: readonly unknown[], locale: string): string | null;
  apply(value: unknown, args: readonly unknown[], context: FilterContext): unknown;
}

/** True for what `default` replaces: absent, null, "" and an empty list. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === "" ||
    (Array.isArray(value) && value.length === 0);
}
