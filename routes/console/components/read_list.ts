import type { ConsolePage, ListRows, Visit } from "../shared/page.ts";

/**
 * Reads the pages of a list, each with its rows and columns. A row that moves to a later page while it is read comes
 * once.
 */
export async function* readList(page: ConsolePage, v: Visit): AsyncGenerator<ListRows> {
  const seen = new Set<string>();
  for (let number = 1;; number++) {
    const part = await readPart(page, v, number);
    if (!part) return;
    const rows = part.page.items.filter((row) => {
      const id = idOf(row);
      if (id === null) return true;
      return seen.has(id) ? false : seen.add(id);
    });
    yield { ...part, page: { ...part.page, items: rows } };
    if (!part.page.hasNext) return;
  }
}

/** One page of the list that a page of the console shows; null if it shows none. */
async function readPart(page: ConsolePage, v: Visit, number: number): Promise<ListRows | null> {
  const query = new URLSearchParams(v.query);
  query.delete("as");
  query.set("page", String(number));
  query.set("pageSize", "largest");
  let found: ListRows | null = null;
  await page.get?.({ ...v, query, collect: (part) => void (found ??= part) });
  return found;
}

/** The id of a row; null if it has none. */
export function idOf(row: unknown): string | null {
  const { id } = row as { id?: unknown };
  return typeof id === "string" ? id : null;
}
