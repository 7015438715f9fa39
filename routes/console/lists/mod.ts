import type { ServicePlatform } from "../../../domain/platform.ts";
import { type ConsolePage, field, type Outcome } from "../shared/page.ts";
import type { ConsolePages } from "./console_pages.ts";
import { countPage } from "./count_rows.ts";
import { taskPages } from "./task_pages.tsx";
import {
  deleteSavedFilter,
  FILTER_NAME_LENGTH,
  FILTER_QUERY_LENGTH,
  MAX_SAVED_FILTERS,
  saveFilter,
} from "../../../domain/console/saved_filters.ts";
import { done } from "../shared/actions.ts";
import { listTexts } from "../shared/list_texts.ts";
import { addressOf, listOf } from "./addresses.ts";

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
      if (name === "" || name.length > FILTER_NAME_LENGTH || query.length > FILTER_QUERY_LENGTH) {
        return { goTo, flash: { tone: "bad", text: t.filterInvalid } };
      }
      const isSaved = await saveFilter(p.sql, { userId: v.viewer.userId, list, name, query });
      return isSaved
        ? done(goTo, t.filterSaved(name))
        : { goTo, flash: { tone: "bad", text: t.filtersFull(MAX_SAVED_FILTERS) } };
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
];
