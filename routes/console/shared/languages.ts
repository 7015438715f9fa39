export const LOCALES = ["en", "pt"] as const;
export type Locale = typeof LOCALES[number];

export type Text = string | ((...values: never[]) => string);
/** Texts of another language with the same keys and arguments. */
export type Translated<W> = { [K in keyof W]: W[K] extends string ? string : W[K] };

/**
 * Texts of one part of the console in every language. The type checker requires each key in both languages, with the same
 * arguments.
 */
export const defineTexts = <W extends Record<string, Text>>(
  en: W,
  pt: Translated<W>,
): Record<Locale, Translated<W>> => ({ en: en as Translated<W>, pt });

/** One text in every language, such as the label of a navigation entry. */
export const inEveryLanguage = <K extends string>(
  { en, pt }: Record<Locale, Record<K, string>>,
  key: K,
): Record<Locale, string> => ({ en: en[key], pt: pt[key] });

/** A text that begins with a number: "1 job", "2 jobs". */
export const counted = (one: string, many: string) => (count: number): string =>
  `${count} ${count === 1 ? one : many}`;

/** The viewer's language: the chosen one, else the first supported one of Accept-Language, else English. */
export function localeOf(chosen: string | undefined, acceptLanguage: string | null): Locale {
  const wanted = [chosen ?? "", ...(acceptLanguage ?? "").split(",")]
    .map((tag) => tag.trim().slice(0, 2).toLowerCase());
  return wanted.flatMap((tag) => LOCALES.filter((locale) => locale === tag))[0] ?? "en";
}

/** Language tags for formatting dates and numbers. */
export const FORMAT_TAGS: Record<Locale, string> = { en: "en-GB", pt: "pt-BR" };
