import { RECORDS } from "../../../domain/records/records.ts";
import { inEveryLanguage } from "../shared/languages.ts";
import type { ConsoleSection } from "../shared/page.ts";
import { recordNavItem, recordPages } from "./record_pages.tsx";
import { recordTexts } from "./texts.ts";

/** The records of the service. All users of the tenant can read them; changing them needs a permission. */
export const recordsSection: ConsoleSection = {
  area: "records",
  title: inEveryLanguage(recordTexts, "section"),
  nav: RECORDS.map((record) => recordNavItem(record)),
  pages: RECORDS.flatMap((record) => recordPages(record)),
};
