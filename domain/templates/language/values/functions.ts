import { getOrCreate } from "./cache.ts";
import { date } from "./dates.ts";
import type { Filter, FilterContext } from "./filter.ts";
import { currency, number } from "./numbers.ts";
import { describeValue } from "./text.ts";
import { isFalsy, ownProperty, textOf } from "./values.ts";

interface FunctionContext extends FilterContext {
  /** The texts of `t` in the language of the render. */
  texts: Readonly<Record<string, string>>;
}

/** Named arguments, as in `zone="Europe/Lisbon"`. */
export type Options = Readonly<Record<string, unknown>>;

/**
 * A function of templates: `{{ plural count "item" "items" }}`, `{{#if (gt total 100)}}`. `check` returns an error message
 * for wrong arguments, or null. If all arguments are literals it runs once, when the template is compiled.
 */
export interface TemplateFunction {
  minArguments: number;
  maxArguments: number;
  /** Names of the named arguments; "any": all names. */
  options: readonly string[] | "any";
  /** True if it can begin a block, as in `{{#eq a b}}`. */
  isCondition?: true;
  check?(args: readonly unknown[], options: Options, locale: string): string | null;
  call(args: readonly unknown[], options: Options, context: FunctionContext): unknown;
}

const NUMERIC = /^[+-]?\d{1,15}(\.\d{1,15})?$/;

/** A number, also from a decimal text; null for every other value. */
function numberOf(value: unknown): number | null {
  if (typeof value === "number") return value;
  return typeof value === "string" && NUMERIC.test(value) ? Number(value) : null;
}

/** Compares numbers as numbers and texts as texts, so that ISO 8601 dates are in order. NaN if they cannot be compared. */
function compare(a: unknown, b: unknown): number {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== null && y !== null) return x - y;
  if (typeof a !== "string" || typeof b !== "string") return NaN;
  return a < b ? -1 : a > b ? 1 : 0;
}

const isEqual = (a: unknown, b: unknown): boolean => (a ?? null) === (b ?? null) || compare(a, b) === 0;

const comparison = (isTrue: (a: unknown, b: unknown) => boolean): TemplateFunction => ({
  minArguments: 2,
  maxArguments: 2,
  options: [],
  isCondition: true,
  call([a, b], _options, { budget }) {
    budget.charge(typeof a === "string" ? a.length : 0);
    return isTrue(a, b);
  },
});

const logic = (pick: (args: readonly unknown[]) => unknown, max: number): TemplateFunction => ({
  minArguments: 1,
  maxArguments: max,
  options: [],
  isCondition: true,
  call: (args) => pick(args),
});

const MAX_OPERANDS = 20;

/** A filter as a function. Its named arguments replace the positional ones, and `locale` the template's language. */
const formatter = (filter: Filter, names: readonly string[]): TemplateFunction => {
  const argumentsOf = (args: readonly unknown[], options: Options) =>
    names.map((name, at) => ownProperty(options, name) ?? args[at + 1]);
  const trimmed = (args: unknown[]) => args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1);
  const localeOf = (options: Options, locale: string) =>
    options.locale === undefined ? locale : String(options.locale);
  return {
    minArguments: 1,
    maxArguments: 1 + filter.maxArguments,
    options: [...names, "locale"],
    check(args, options, locale) {
      const given = trimmed(argumentsOf(args, options));
      if (given.length < filter.minArguments) {
        return `takes ${1 + filter.minArguments} values, found ${args.length}`;
      }
      if (options.locale !== undefined && !isLocale(options.locale)) {
        return `expects a language tag such as "pt-BR", found ${describeValue(options.locale)}`;
      }
      return filter.check?.(given, localeOf(options, locale)) ?? null;
    },
    call: (args, options, { locale, budget }) =>
      filter.apply(args[0], trimmed(argumentsOf(args, options)), {
        locale: localeOf(options, locale),
        budget,
      }),
  };
};

function isLocale(tag: unknown): boolean {
  try {
    return typeof tag === "string" && Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

const PLURALS = ["zero", "one", "two", "few", "many", "other"] as const;
const rules = new Map<string, Intl.PluralRules>();

const pluralRules = (locale: string): Intl.PluralRules =>
  getOrCreate(rules, locale, () => new Intl.PluralRules(locale));

/**
 * `plural count "item" "items"`, or by the plural categories of the language:
 * `plural count one="# файл" few="# файла" many="# файлов" other="# файла"`. `#` becomes the formatted number.
 */
const plural: TemplateFunction = {
  minArguments: 1,
  maxArguments: 3,
  options: PLURALS,
  check(args, options, locale) {
    pluralRules(locale);
    number.check?.([], locale);
    if (args.length === 3 || options.other !== undefined) return null;
    return "takes a number with one text for 1 and one for others, or named texts with at least `other`";
  },
  call([count, one, other], options, { locale, budget }) {
    budget.charge(1_024);
    const value = numberOf(count) ?? 0;
    const category = pluralRules(locale).select(value);
    const named = ownProperty(options, category) ?? (category === "one" ? one : undefined);
    const text = textOf(named ?? ownProperty(options, "other") ?? other, budget);
    if (!text.includes("#")) return text;
    return text.replaceAll("#", () => textOf(number.apply(value, [], { locale, budget }), budget));
  },
};

const PLACEHOLDER = /\{(\w{1,50})\}/g;

/** `t "greeting" name=firstName`: the text of a key with `{name}` replaced. If the key has no text, the key is shown. */
const translated: TemplateFunction = {
  minArguments: 1,
  maxArguments: 1,
  options: "any",
  call([key], options, { texts, budget }) {
    const name = textOf(key, budget);
    const text = ownProperty(texts, name);
    if (typeof text !== "string") return name;
    budget.acceptText(text);
    let size = text.length;
    return text.replaceAll(PLACEHOLDER, (written, placeholder: string) => {
      if (!Object.hasOwn(options, placeholder)) return written;
      const value = textOf(options[placeholder], budget);
      budget.checkSize(size += value.length - written.length);
      return value;
    });
  },
};

/** All functions by their name in templates. */
export const FUNCTIONS: ReadonlyMap<string, TemplateFunction> = new Map(Object.entries({
  eq: comparison(isEqual),
  ne: comparison((a, b) => !isEqual(a, b)),
  lt: comparison((a, b) => compare(a, b) < 0),
  lte: comparison((a, b) => compare(a, b) <= 0),
  gt: comparison((a, b) => compare(a, b) > 0),
  gte: comparison((a, b) => compare(a, b) >= 0),
  and: logic((args) => args.find((arg) => isFalsy(arg, false)) ?? args.at(-1), MAX_OPERANDS),
  or: logic((args) => args.find((arg) => !isFalsy(arg, false)) ?? args.at(-1), MAX_OPERANDS),
  not: logic(([arg]) => isFalsy(arg, false), 1),
  plural,
  t: translated,
  date: formatter(date, ["pattern", "zone"]),
  number: formatter(number, ["decimals"]),
  currency: formatter(currency, ["code", "decimals"]),
}));

/** The names of all functions, in the order of the documentation. */
export const FUNCTION_NAMES: readonly string[] = [...FUNCTIONS.keys()];
