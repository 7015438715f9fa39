import { lockNamed } from "../../infra/postgres/advisory_locks.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { requireUnerased } from "../rights/user_lookup.ts";

/** Maximum number of filters that a user saves of one list, and of all lists: pages such as that of a role have a list each. */
export const MAX_SAVED_FILTERS = 20;
const MAX_OF_USER = 200;
export const FILTER_NAME_LENGTH = 60;
export const FILTER_QUERY_LENGTH = 2_000;

/**
 * The list of a user's pins in the navigation, which is no path of a list. A pin's name is the path of its page, or the
 * path and the name of a saved filter; its query is the whole address.
 */
export const PINS = "/";

/** A filter of a list that a user saved under a name. */
export interface SavedFilter {
  slot: number;
  name: string;
  /** The query of the list's address: `status=Failed&type=…`. */
  query: string;
}

/** The filters that a user saved of a list, by name. */
export const listSavedFilters = (q: Sql, userId: string, list: string) =>
  q<SavedFilter[]>`
    select slot, name, query from console_saved_filters where user_id = ${userId} and list = ${list}
    order by same_text(name)`;

/**
 * Saves a filter. One with the same name is replaced.
 * @returns false if the user has saved as many of this list, or of all lists, as possible
 * @throws SESSION_INVALIDATED if the user was erased
 */
export async function saveFilter(
  q: Sql,
  { userId, list, name, query }: { userId: string; list: string; name: string; query: string },
): Promise<boolean> {
  return await transact(q, async (tx) => {
    await requireUnerased(tx, userId);
    // otherwise two inserts would take the same free slot
    await lockNamed(tx, "savedFilters", userId);
    const saved = await tx`
      insert into console_saved_filters (user_id, list, slot, name, query)
      select ${userId}, ${list}, slot, ${name}, ${query} from (
        select slot, 1 as preferred from console_saved_filters
        where user_id = ${userId} and list = ${list} and same_text(name) = same_text(${name})
        union all
        select slot, 2 from generate_series(1, ${MAX_SAVED_FILTERS}::int) slot where slot not in (
          select slot from console_saved_filters where user_id = ${userId} and list = ${list})
          and (select count(*) from console_saved_filters where user_id = ${userId}) < ${MAX_OF_USER}
        order by preferred, slot limit 1) free
      on conflict (user_id, list, slot) do update set name = excluded.name, query = excluded.query`;
    return saved.count > 0;
  });
}

export async function deleteSavedFilter(
  q: Sql,
  { userId, list, slot }: { userId: string; list: string; slot: number },
): Promise<void> {
  await q`delete from console_saved_filters where user_id = ${userId} and list = ${list} and slot = ${slot}`;
}
