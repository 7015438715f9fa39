import type { AreaName, AreasOn } from "../../infra/areas.ts";
import { accessSection } from "./access/mod.ts";
import { filesSection } from "./files/mod.ts";
import { inboxSection } from "./inbox/mod.tsx";
import { integrationSection } from "./integration/mod.ts";
import { jobsSection } from "./jobs/mod.ts";
import { notificationsSection } from "./notifications/mod.ts";
import { overviewSection } from "./overview/overview.tsx";
import { reportsSection } from "./reports/mod.ts";
import { recordsSection } from "./records/mod.ts";
import { searchSection } from "./search/mod.tsx";
import { type ConsoleSection, EXTENSION_PAGES } from "./shared/page.ts";

export { extensionSection } from "./extensions/section.tsx";

/** All sections of the console, in navigation order. */
export const sections: ConsoleSection[] = [
  overviewSection,
  inboxSection,
  jobsSection,
  filesSection,
  notificationsSection,
  reportsSection,
  accessSection,
  recordsSection,
  integrationSection,
  searchSection,
];

/** The sections with the pages of the areas that are on. A section whose area is off has no heading. */
export function sectionsOf({ AREAS }: AreasOn): ConsoleSection[] {
  return sections.map(({ title, ...section }) => {
    const isOn = ({ area = section.area }: { area?: AreaName | null }) => !area || AREAS.has(area);
    const pages = section.pages.filter(isOn);
    const paths = new Set(pages.map(({ path }) => path));
    const nav = section.nav.filter(({ path }) => paths.has(path));
    return { ...section, ...title && isOn({}) ? { title } : {}, nav, pages };
  }).filter(({ pages }) => pages.length > 0);
}

/** The first segments of the paths that records of extensions must not take. */
export const takenPaths = (): string[] => [
  ...sections.flatMap(({ pages }) => pages).map(({ path }) => path.split("/")[0] ?? ""),
  EXTENSION_PAGES,
];
