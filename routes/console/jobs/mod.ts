import type { ConsoleSection } from "../shared/page.ts";
import { jobsPage } from "./list.tsx";
import { words } from "./words.ts";

/** Jobs, recurring jobs and dead letters. */
export const jobsSection: ConsoleSection = {
  title: { en: words.en.jobs, pt: words.pt.jobs },
  nav: [{ path: "jobs", label: { en: words.en.jobs, pt: words.pt.jobs }, icon: "jobs" }],
  pages: [{ path: "jobs", get: jobsPage }],
};
