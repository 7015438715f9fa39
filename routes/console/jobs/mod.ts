import { inEveryLanguage } from "../shared/languages.ts";
import { type ConsoleSection, navItem } from "../shared/page.ts";
import { batchPages } from "./batches.tsx";
import { databasePage } from "./database.tsx";
import { deadLetterPages } from "./dead_letters.tsx";
import { deadLetterTexts, jobTexts, recurringJobTexts as recurring, typeTexts } from "./texts.ts";
import { jobPages } from "./detail.tsx";
import { deployPages } from "./deploys.tsx";
import { enqueuePage, runAgainPage } from "./enqueue.tsx";
import { jobActions, jobsPage } from "./list.tsx";
import { recurringPages } from "./recurring.tsx";
import { pausePages } from "./pauses.tsx";
import { typePage, typesPage } from "./type.tsx";
import { upcomingPage } from "./upcoming.tsx";
import { workerTexts } from "./worker_texts.ts";
import { workersPage } from "./workers.tsx";

/** Jobs, their types and workers, recurring jobs and dead letters. */
export const jobsSection: ConsoleSection = {
  area: "jobs",
  title: inEveryLanguage(jobTexts, "jobs"),
  nav: [
    navItem(jobTexts, "jobs", { path: "jobs", icon: "jobs" }),
    navItem(typeTexts, "title", { path: "job-types", icon: "types" }),
    navItem(workerTexts, "title", { path: "workers", icon: "workers" }),
    navItem(recurring, "title", { path: "recurring", icon: "recurring" }),
    navItem(deadLetterTexts, "title", { path: "dead-letters", icon: "dead" }),
  ],
  pages: [
    { path: "jobs", get: jobsPage, bulk: jobActions },
    enqueuePage,
    ...jobPages,
    ...batchPages,
    runAgainPage,
    { path: "job-types", get: typesPage },
    { path: "job-types/{name}", get: typePage },
    ...pausePages,
    // The state of the service does not need the routes of jobs.
    ...[workersPage, ...deployPages, databasePage].map((page) => ({ ...page, area: null })),
    { path: "upcoming", get: upcomingPage },
    ...recurringPages,
    ...deadLetterPages,
  ],
};
