import type { ServicePlatform } from "../../../domain/platform.ts";
import type { ConsolePage } from "../shared/page.ts";
import type { ConsolePages } from "./console_pages.ts";
import { countPage } from "./count_rows.ts";
import { filterPages } from "./filter_pages.ts";
import { taskPages } from "./task_pages.tsx";

/** Pages that all lists share: saved filters, and actions on many rows. */
export const listPages = (p: ServicePlatform, pages: ConsolePages): ConsolePage[] => [
  ...filterPages(p, pages),
  countPage(p, pages),
  ...taskPages(p, pages),
];
