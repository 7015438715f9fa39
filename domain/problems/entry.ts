/** One problem: HTTP status, title, meaning, and how to fix it (`mend`), for developers; `user` is for users of the console. */
export interface CatalogueEntry {
  status: number;
  title: string;
  meaning: string;
  mend: string;
  /** What happened and what to do next, in each language of the console. */
  user: { en: string; pt: string };
}

export const entry = (
  status: number,
  title: string,
  meaning: string,
  mend: string,
  en: string,
  pt: string,
): CatalogueEntry => ({ status, title, meaning, mend, user: { en, pt } });
