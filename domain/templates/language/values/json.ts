import type { Budget } from "./budget.ts";
import type { Filter } from "./filter.ts";

const MAX_DEPTH = 32;

/** `json`: the value as compact JSON. `toJSON` is not called. Dates are ISO 8601. Values below 32 levels are null. */
export const json: Filter = {
  minArguments: 0,
  maxArguments: 0,
  apply: (value, _args, { budget }) => stringify(value, budget, 0) ?? "null",
};

/** Like JSON.stringify, but in steps that the budget can stop. Returns undefined for values that JSON cannot represent. */
function stringify(value: unknown, budget: Budget, depth: number): string | undefined {
  budget.charge(0);
  if (typeof value === "string") {
    budget.acceptText(value);
    return JSON.stringify(value);
  }
  if (typeof value === "bigint") return String(value);
  if (typeof value === "function" || typeof value === "symbol" || value === undefined) return undefined;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? "null" : JSON.stringify(value.toISOString());
  }
  if (depth === MAX_DEPTH) return "null";
  const isList = Array.isArray(value);
  let inner = "";
  const add = (text: string) => {
    inner += inner === "" ? text : "," + text;
    budget.checkSize(inner);
  };
  if (isList) {
    for (let index = 0; index < value.length; index++) {
      add(stringify(value[index], budget, depth + 1) ?? "null");
    }
    return `[${inner}]`;
  }
  const keys = Object.keys(value);
  budget.charge(keys.length * 32);
  for (const key of keys) {
    const item = stringify((value as Record<string, unknown>)[key], budget, depth + 1);
    if (item !== undefined) add(`${JSON.stringify(key)}:${item}`);
  }
  return `{${inner}}`;
}
