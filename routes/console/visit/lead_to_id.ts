import type { Visit } from "../shared/page.ts";
import { findAnyById, findById, kindOf } from "../search/kinds.ts";
import { idIn } from "../shared/search_query.ts";

/** The parameters of lists that people type into. */
const TYPED = ["search", "searchTerm", "recipient"];

/**
 * The page of the thing whose id was typed into the search field of a list: one of the list's kind, else any other. Null if
 * it is no id, or nothing with it exists in the current scope.
 */
export async function leadToId(v: Visit): Promise<string | null> {
  const [section = ""] = v.address.split("?");
  const typed = TYPED.map((name) => v.query.get(name)?.trim()).find(Boolean);
  const id = typed && idIn(typed);
  if (!id || !v.nav.some(({ items }) => items.some(({ path }) => path === section))) return null;
  const kind = kindOf(section);
  const own = kind ? await findById(v, kind, id) : null;
  return (own ?? (await findAnyById(v, id))[0])?.href ?? null;
}
