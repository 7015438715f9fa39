import { alertRules } from "../../../domain/records/alert_rules.ts";
import { RECORDS } from "../../../domain/records/records.ts";
import { HealthTabs } from "../jobs/workers.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import { inEveryLanguage } from "../shared/languages.ts";
import type { ConsoleSection, Visit } from "../shared/page.ts";
import { recordNavItem, recordPages } from "./record_pages.tsx";

const OWN = RECORDS.filter((record) => record !== alertRules);
const alertTabs = (v: Visit) => HealthTabs({ v, current: "alert-rules" });

/** The records of the service. All users of the tenant can read them; changing them needs a permission. */
export const recordsSection: ConsoleSection = {
  title: inEveryLanguage(commonTexts, "product"),
  // Alert rules are a tab of the state of the service.
  nav: OWN.map((record) => recordNavItem(record)),
  pages: [
    ...OWN.flatMap((record) => recordPages(record)).map((page) => ({ ...page, area: "records" as const })),
    ...recordPages(alertRules, [], alertTabs),
  ],
};
