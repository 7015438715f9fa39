export const LOCALES = ["en", "pt"] as const;
export type Locale = typeof LOCALES[number];

type Text = string | ((...values: never[]) => string);
type Translated<W> = { [K in keyof W]: W[K] extends string ? string : W[K] };

/** One part's words in every language; the second must say all that the first says. */
export const defineTexts = <W extends Record<string, Text>>(
  en: W,
  pt: Translated<W>,
): Record<Locale, Translated<W>> => ({ en: en as Translated<W>, pt });

/** The reader's language: the one chosen, else the first the browser asks for that there is, else English. */
export function localeOf(chosen: string | undefined, acceptLanguage: string | null): Locale {
  const wanted = [chosen ?? "", ...(acceptLanguage ?? "").split(",")]
    .map((tag) => tag.trim().slice(0, 2).toLowerCase());
  return wanted.flatMap((tag) => LOCALES.filter((locale) => locale === tag))[0] ?? "en";
}

/** The tag that dates and numbers are written by. */
export const FORMAT_TAGS: Record<Locale, string> = { en: "en-GB", pt: "pt-PT" };
