import { formatter } from "../../../domain/shared/formatters.ts";

export const LOCALES = ["en", "pt"] as const;
export type Locale = typeof LOCALES[number];

/** A text in every language, in the order of `LOCALES`. */
export type Translated = readonly [en: string, pt: string];

/** A text in one language. */
export const translated = ([en, pt]: Translated, locale: Locale): string => ({ en, pt })[locale];

/** Texts by key. A text that contains values is a function of them. */
export type Texts = Record<string, Translated | ((...values: never[]) => Translated)>;

/** Texts in one language. */
export type InLanguage<T extends Texts> = {
  [Key in keyof T]: T[Key] extends (...values: infer Values) => Translated ? (...values: Values) => string
    : string;
};

/** The texts of one part of the console, by language. The type checker requires each text in every language. */
export const defineTexts = <T extends Texts>(texts: T): Record<Locale, InLanguage<T>> => ({
  en: inLanguage(texts, 0),
  pt: inLanguage(texts, 1),
});

const inLanguage = <T extends Texts>(texts: T, index: 0 | 1) =>
  Object.fromEntries(
    Object.entries(texts).map(([key, text]) => [
      key,
      typeof text === "function" ? (...values: never[]) => text(...values)[index] : text[index],
    ]),
  ) as InLanguage<T>;

/** One text in every language, such as the title of a section. */
export const inEveryLanguage = <K extends string>(
  { en, pt }: Record<Locale, Record<K, string>>,
  key: K,
): Record<Locale, string> => ({ en: en[key], pt: pt[key] });

/** A number and its noun: "1 job", "1,200 jobs". */
export const withCount = (locale: Locale, count: number, one: string, many: string): string =>
  `${formatter(Intl.NumberFormat, FORMAT_TAGS[locale], {}).format(count)} ${count === 1 ? one : many}`;

type OneAndMany = [one: string, many: string];

/** A text that begins with a number. */
export const counted = (en: OneAndMany, pt: OneAndMany) => (count: number): Translated => [
  withCount("en", count, ...en),
  withCount("pt", count, ...pt),
];

/**
 * The viewer's language: the chosen one, else the first supported one of `uiLocales` or of Accept-Language, else English. A
 * tag with a region or script counts as its language.
 * @param uiLocales language tags separated by spaces, as clients of the OpenID provider send them
 */
export function localeOf(
  chosen: string | undefined,
  acceptLanguage: string | null,
  uiLocales: string | null = null,
): Locale {
  const wanted = [chosen ?? "", ...(uiLocales ?? "").split(" "), ...(acceptLanguage ?? "").split(",")]
    .map((tag) => tag.trim().split(/[-;]/)[0]?.toLowerCase());
  return wanted.flatMap((tag) => LOCALES.filter((locale) => locale === tag))[0] ?? "en";
}

/** Language tags for formatting dates and numbers. */
export const FORMAT_TAGS: Record<Locale, string> = { en: "en-GB", pt: "pt-BR" };
