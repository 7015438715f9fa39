import type { ConsolePage } from "../shared/page.ts";
import { purge, purgePage, retryMany, retryManyPage } from "./dead_letter_bulk.tsx";
import { deadLetterTexts } from "./dead_letter_texts.ts";
import { deadLetterListPage, deadLetterPage, deadLettersPage } from "./dead_letters.tsx";
import type { Job } from "./job_status.tsx";

/** Pages of dead letters and their actions. */
export const deadLetterPages: ConsolePage[] = [
  { path: "dead-letters", get: deadLettersPage },
  { path: "dead-letters/list", get: deadLetterListPage },
  { path: "dead-letters/retry", get: retryManyPage, post: retryMany },
  { path: "dead-letters/purge", get: purgePage, post: purge },
  { path: "dead-letters/{id}", get: deadLetterPage },
  {
    path: "dead-letters/{id}/retry",
    async post(v) {
      const job = await v.api.send<Job>("POST", `dead-letter-jobs/${v.params.id}/retry`);
      return { goTo: `jobs/${job.id}`, flash: { tone: "ok", text: deadLetterTexts[v.locale].retryDone } };
    },
  },
];
