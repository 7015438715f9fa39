import { inboxSection } from "./inbox/mod.tsx";
import { jobsSection } from "./jobs/mod.ts";
import { overviewSection } from "./overview/mod.tsx";
import type { ConsoleSection } from "./shared/page.ts";

/** The parts of the console, in the order of the navigation. */
export const sections: ConsoleSection[] = [
  overviewSection,
  inboxSection,
  jobsSection,
];
