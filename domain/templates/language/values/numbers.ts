import { getOrCreate } from "./cache.ts";
import type { Filter } from "./filter.ts";
import { describeValue } from "./text.ts";

const DECIMAL = /^[+-]?\d{1,100}(\.\d{1,100})?$/;
const MAX_DIGITS = 20;
const formatters = new Map<string, Intl.NumberFormat>();

/** Parses a number. Decimal strings stay strings, so that long amounts keep all digits. Null if it is not a number. */
function numberIn(value: unknown): number | bigint | Intl.StringNumericLiteral | null {
  if (typeof value === "bigint") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return typeof value === "string" && DECIMAL.test(value.trim())
    ? value.trim() as Intl.StringNumericLiteral
    : null;
}

function digitsProblem(digits: unknown): string | null {
  if (digits === undefined) return null;
  const isCount = Number.isInteger(digits) && (digits as number) >= 0 && (digits as number) <= MAX_DIGITS;
  return isCount ? null : `expects 0 to ${MAX_DIGITS} decimals, found ${describeValue(digits)}`;
}

function formatter(locale: string, currency: unknown, digits: unknown): Intl.NumberFormat {
  return getOrCreate(
    formatters,
    `${locale}|${currency ?? ""}|${digits ?? ""}`,
    () =>
      new Intl.NumberFormat(locale, {
        signDisplay: "negative", // an amount that is rounded to zero has no sign
        ...(currency === undefined ? {} : { style: "currency", currency: currency as string }),
        ...(digits === undefined
          ? {}
          : { minimumFractionDigits: digits as number, maximumFractionDigits: digits as number }),
      }),
  );
}

/** `number` or `number:decimals`, formatted for the template's locale. A value that is not a number is unchanged. */
export const number: Filter = {
  minArguments: 0,
  maxArguments: 1,
  check([digits], locale) {
    const problem = digitsProblem(digits);
    if (problem === null) formatter(locale, undefined, digits).format(0);
    return problem;
  },
  apply(value, [digits], { locale, budget }) {
    const parsed = numberIn(value);
    if (parsed === null) return value;
    budget.charge(1_024);
    return formatter(locale, undefined, digits).format(parsed);
  },
};

/** `currency:"EUR"` or `currency:"EUR":decimals`. A value that is not a number is unchanged. */
export const currency: Filter = {
  minArguments: 1,
  maxArguments: 2,
  check([code, digits], locale) {
    if (typeof code !== "string" || !/^[A-Za-z]{3}$/.test(code)) {
      return `expects a currency code of three letters such as "EUR", found ${describeValue(code)}`;
    }
    const problem = digitsProblem(digits);
    if (problem === null) formatter(locale, code.toUpperCase(), digits).format(0);
    return problem;
  },
  apply(value, [code, digits], { locale, budget }) {
    const parsed = numberIn(value);
    if (parsed === null) return value;
    budget.charge(1_024);
    return formatter(locale, (code as string).toUpperCase(), digits).format(parsed);
  },
};
