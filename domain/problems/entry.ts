/** One kind of refusal: its status, its name, what it means and how to mend it. */
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
