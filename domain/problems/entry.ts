/** One problem: HTTP status, title, meaning, and how to fix it (`fix`), for developers; `user` is for users of the console. */
export interface CatalogueEntry {
  status: number;
  title: string;
  meaning: string;
  fix: string;
  /** A text that says what happened and what to do next, in each language of the console. */
  user: { en: string; pt: string };
}

export const entry = (
  status: number,
  title: string,
  meaning: string,
  fix: string,
  en: string,
  pt: string,
): CatalogueEntry => ({ status, title, meaning, fix, user: { en, pt } });
