import type { Budget } from "./budget.ts";

/** The locale and the budget with which a filter or function runs. */
export interface FilterContext {
  /** Canonical BCP 47 tag of the template. */
  locale: string;
  budget: Budget;
}

/**
 * A filter. `check` returns an error message for invalid arguments, or null. If all arguments are literals, it runs once
 * at compile time, which also creates formatters before the time limit of a render starts; otherwise it runs at each
 * render. `apply` must not call methods of the value and must charge expensive work to the budget.
 */
export interface Filter {
  minArguments: number;
  maxArguments: number;
  check?(args: readonly unknown[], locale: string): string | null;
  apply(value: unknown, args: readonly unknown[], context: FilterContext): unknown;
}

/** True for values that the filter `default` replaces: undefined, null, "" and an empty list. */
export function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === "" ||
    (Array.isArray(value) && value.length === 0);
}
