import type { ConsoleSection } from "../shared/page.ts";
import { deadLetterPages } from "./dead_letter_pages.ts";
import { deadLetterTexts } from "./dead_letter_texts.ts";
import { cancelJob, jobPage, retryJobNow } from "./detail.tsx";
import { enqueueJob, enqueuePage } from "./enqueue.tsx";
import { jobsPage } from "./list.tsx";
import { recurringPages } from "./recurring_pages.ts";
import { recurringJobTexts } from "./recurring_texts.ts";
import { jobTexts } from "./texts.ts";

/** Jobs, recurring jobs and dead letters. */
export const jobsSection: ConsoleSection = {
  title: { en: jobTexts.en.jobs, pt: jobTexts.pt.jobs },
  nav: [
    { path: "jobs", label: { en: jobTexts.en.jobs, pt: jobTexts.pt.jobs }, icon: "jobs" },
    {
      path: "recurring",
      label: { en: recurringJobTexts.en.title, pt: recurringJobTexts.pt.title },
      icon: "recurring",
    },
    {
      path: "dead-letters",
      label: { en: deadLetterTexts.en.title, pt: deadLetterTexts.pt.title },
      icon: "dead",
    },
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
