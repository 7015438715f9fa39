import { graphemesOf } from "../../../shared/cut_text.ts";
import type { Budget } from "./budget.ts";
import { type Filter, type FilterContext, isBlank } from "./filter.ts";
import { textOf } from "./values.ts";

const MAX_TRUNCATED = 100_000;

const perText = (change: (text: string, locale: string) => string): Filter => ({
  minArguments: 0,
  maxArguments: 0,
  apply(value, _args, context) {
    const text = textOf(value, context.budget);
    return change(text, context.locale);
  },
});

export const upper = perText((text, locale) => text.toLocaleUpperCase(locale));
export const lower = perText((text, locale) => text.toLocaleLowerCase(locale));
export const trim = perText((text) => text.trim());
/** Percent-encodes for a URL component; lone surrogates become U+FFFD instead of an exception. */
export const urlencode = perText((text) => encodeURIComponent(text.toWellFormed()));
/** The first letter in upper case, the rest unchanged. */
export const capitalize = perText((text, locale) => {
  const first = text === "" ? "" : String.fromCodePoint(text.codePointAt(0) ?? 0);
  return first.toLocaleUpperCase(locale) + text.slice(first.length);
});

/** `truncate:n`: at most n graphemes. If the text was cut, the last one is an ellipsis. */
export const truncate: Filter = {
  minArguments: 1,
  maxArguments: 1,
  check([length]) {
    const isLength = Number.isInteger(length) && (length as number) >= 1 &&
      (length as number) <= MAX_TRUNCATED;
    return isLength ? null : `expects a length from 1 to ${MAX_TRUNCATED}, found ${describeValue(length)}`;
  },
  apply(value, [length], context: FilterContext) {
    const text = textOf(value, context.budget);
    const max = length as number;
    if (text.length <= max) return text;
    let kept = 0;
    let count = 0;
    for (const { index } of graphemesOf(text)) {
      context.budget.charge(32);
      if (count === max - 1) kept = index;
      if (count === max) return text.slice(0, kept) + "…";
      count++;
    }
    return text;
  },
};

/** `default:value`: the argument if the value is undefined, null, "" or an empty list. */
export const fallback: Filter = {
  minArguments: 1,
  maxArguments: 1,
  apply: (value, [replacement]) => isBlank(value) ? replacement : value,
};

/** An argument as error messages show it. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "nothing";
  return typeof value === "object" && value !== null ? "an object" : `\`${String(value).slice(0, 40)}\``;
}

const MAX_DEPTH = 32;

/** `json`: the value as compact JSON. `toJSON` is not called. Dates are ISO 8601. Values below 32 levels are null. */
export const json: Filter = {
  minArguments: 0,
  maxArguments: 0,
  apply: (value, _args, { budget }) => stringify(value, budget, 0) ?? "null",
};

/** JSON.stringify in steps that the budget can stop; undefined for values that JSON cannot represent. */
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
    budget.checkSize(inner.length);
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
