import type { ServicePlatform } from "../../../domain/platform.ts";
import { type ConsolePage, field, type Outcome } from "../shared/page.ts";
import { addressOf, type ConsolePages, listOf } from "./console_pages.ts";
import { countPage } from "./count_rows.ts";
import { taskPages } from "./task_pages.tsx";
import {
  deleteSavedFilter,
  FILTER_NAME_LENGTH,
  FILTER_QUERY_LENGTH,
  MAX_SAVED_FILTERS,
  PINS,
  saveFilter,
} from "../../../domain/console/saved_filters.ts";
import { cutText } from "../../../domain/shared/cut_text.ts";
import { entryAt } from "../shared/scope.ts";
import { done, notDone } from "../shared/actions.ts";
import { listTexts } from "../shared/common_texts.ts";

/** Pages that all lists share: saved filters, and actions on many rows. */
export const listPages = (p: ServicePlatform, pages: ConsolePages): ConsolePage[] => [
  ...filterPages(p, pages),
  countPage(p, pages),
  ...taskPages(p, pages),
];

/** Saves and deletes filters of lists. Each user has their own. */
const filterPages = (p: Pick<ServicePlatform, "sql">, pages: ConsolePages): ConsolePage[] => [
  {
    path: "lists/filters",
    async post(v, form): Promise<Outcome> {
      const t = listTexts[v.locale];
      const { list, query } = listOf(form);
      const goTo = addressOf({ list, query });
      const page = pages.find(list)?.page;
      if (!page?.get || !pages.isOpen(page, v.viewer)) return { goTo }; // that page says why
      const name = field(form, "name");
      const isValid = name !== "" && name.length <= FILTER_NAME_LENGTH && query.length <= FILTER_QUERY_LENGTH;
      if (!isValid) return notDone(goTo, t.filterInvalid);
      const isSaved = await saveFilter(p.sql, { userId: v.viewer.userId, list, name, query });
      return isSaved ? done(goTo, t.filterSaved(name)) : notDone(goTo, t.filtersFull(MAX_SAVED_FILTERS));
    },
  },
  {
    path: "lists/filters/delete",
    async post(v, form) {
      const { list, query } = listOf(form);
      const slot = Number(field(form, "slot"));
      if (Number.isInteger(slot) && slot > 0 && slot <= MAX_SAVED_FILTERS) {
        await deleteSavedFilter(p.sql, { userId: v.viewer.userId, list, slot });
      }
      return done(addressOf({ list, query }), listTexts[v.locale].filterDeleted);
    },
  },
  {
    // Pins a page or a saved filter of a list to the top of the navigation, or removes a pin.
    path: "lists/pins",
    async post(v, form): Promise<Outcome> {
      const t = listTexts[v.locale];
      const { userId } = v.viewer;
      const { list, query } = listOf(form);
      const goTo = addressOf({ list, query });
      const [pin, filter] = [Number(field(form, "pin")), Number(field(form, "filter"))];
      if (pin > 0 && pin <= MAX_SAVED_FILTERS && Number.isInteger(pin)) {
        await deleteSavedFilter(p.sql, { userId, list: PINS, slot: pin });
        return done(goTo, t.unpinned);
      }
      const page = entryAt(v, filter ? list : field(form, "entry"))?.path;
      const saved = filter && (await v.readSavedFilters(list)).find(({ slot }) => slot === filter);
      if (!page || saved === undefined) return { goTo };
      const pinned = saved
        ? {
          name: cutText(`${list}: ${saved.name}`, FILTER_NAME_LENGTH),
          query: addressOf({ list, query: saved.query }),
        }
        : { name: cutText(page, FILTER_NAME_LENGTH), query: page };
      const isSaved = await saveFilter(p.sql, { userId, list: PINS, ...pinned });
      return isSaved ? done(goTo, t.isPinned) : notDone(goTo, t.pinsFull(MAX_SAVED_FILTERS));
    },
  },
];
