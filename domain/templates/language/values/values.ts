import type { Budget } from "./budget.ts";

const MAX_LIST_DEPTH = 8;

/** An own property of a value. Inherited properties and properties of functions are undefined. */
export function ownProperty(value: unknown, key: string): unknown {
  if (value === null || value === undefined || typeof value === "function") return undefined;
  return Object.hasOwn(value as object, key) ? (value as Record<string, unknown>)[key] : undefined;
}

/** True for values that are false in a condition: null, undefined, false, "", NaN, an empty list, and 0 unless `isZeroTrue`. */
export function isFalsy(value: unknown, isZeroTrue: boolean): boolean {
  if (value === 0) return !isZeroTrue;
  return !value || (Array.isArray(value) && value.length === 0);
}

/**
 * Converts a value to text like Handlebars, but without calling methods of the value: functions and symbols become empty,
 * objects "[object Object]", dates ISO 8601, lists their items joined by commas.
 */
export function textOf(value: unknown, budget: Budget, depth = 0): string {
  switch (typeof value) {
    case "string":
      budget.acceptText(value);
      return value;
    case "number":
    case "boolean":
    case "bigint":
      return String(value);
    case "object":
      break;
    default:
      return "";
  }
  if (value === null) return "";
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "" : value.toISOString();
  if (!Array.isArray(value)) return "[object Object]";
  if (depth === MAX_LIST_DEPTH) return "";
  let joined = "";
  for (let index = 0; index < value.length; index++) {
    joined += (index === 0 ? "" : ",") + textOf(value[index], budget, depth + 1);
    budget.charge(0);
    budget.checkSize(joined.length);
  }
  return joined;
}
