import type { ConsoleSection } from "../shared/page.ts";
import { deadLetterPages } from "./dead_letters.tsx";
import { deadLetterTexts } from "./dead_letter_texts.ts";
import { jobPages } from "./detail.tsx";
import { enqueuePage } from "./enqueue.tsx";
import { jobsPage } from "./list.tsx";
import { jobActions } from "./row_actions.ts";
import { recurringPages } from "./recurring.tsx";
import { recurringJobTexts as recurring } from "./recurring_texts.ts";
import { jobTexts } from "./texts.ts";

const jobs = { en: jobTexts.en.jobs, pt: jobTexts.pt.jobs };
const deadLetters = { en: deadLetterTexts.en.title, pt: deadLetterTexts.pt.title };

/** Jobs, recurring jobs and dead letters. */
export const jobsSection: ConsoleSection = {
  title: jobs,
  nav: [
    { path: "jobs", label: jobs, icon: "jobs" },
    { path: "recurring", label: { en: recurring.en.title, pt: recurring.pt.title }, icon: "recurring" },
    { path: "dead-letters", label: deadLetters, icon: "dead" },
  ],
  pages: [
    { path: "jobs", get: jobsPage, bulk: jobActions },
    enqueuePage,
    ...jobPages,
    ...recurringPages,
    ...deadLetterPages,
  ],
};
