/** One problem: HTTP status, title, meaning, and how to fix it (`mend`). */
export interface CatalogueEntry {
  status: number;
  title: string;
  meaning: string;
  mend: string;
}

export const entry = (status: number, title: string, meaning: string, mend: string): CatalogueEntry => ({
  status,
  title,
  meaning,
  mend,
});
