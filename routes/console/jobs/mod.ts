import type { ConsoleSection } from "../shared/page.ts";
import { deadLetterPages } from "./dead_letter_pages.ts";
import { words as deadLetters } from "./dead_letter_words.ts";
import { cancelJob, jobPage, retryJobNow } from "./detail.tsx";
import { enqueueJob, enqueuePage } from "./enqueue.tsx";
import { jobsPage } from "./list.tsx";
import { recurringPages } from "./recurring_pages.ts";
import { words as recurring } from "./recurring_words.ts";
import { words } from "./words.ts";

/** Jobs, recurring jobs and dead letters. */
export const jobsSection: ConsoleSection = {
  title: { en: words.en.jobs, pt: words.pt.jobs },
  nav: [
    { path: "jobs", label: { en: words.en.jobs, pt: words.pt.jobs }, icon: "jobs" },
    { path: "recurring", label: { en: recurring.en.nav, pt: recurring.pt.nav }, icon: "recurring" },
    { path: "dead-letters", label: { en: deadLetters.en.title, pt: deadLetters.pt.title }, icon: "dead" },
  ],
  pages: [
    { path: "jobs", get: jobsPage },
    { path: "jobs/new", get: enqueuePage, post: enqueueJob },
    { path: "jobs/{id}", get: jobPage },
    { path: "jobs/{id}/cancel", post: cancelJob },
    { path: "jobs/{id}/retry-now", post: retryJobNow },
    ...recurringPages,
    ...deadLetterPages,
  ],
};
