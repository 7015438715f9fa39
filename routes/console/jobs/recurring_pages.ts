import type { ConsolePage, Outcome, Visit } from "../shared/page.ts";
import type { Job } from "./job_status.tsx";
import { apiPathOf, pathOf, recurringJobPage, recurringPage } from "./recurring.tsx";
import { changeRecurring, createRecurring, editRecurringPage, newRecurringPage } from "./recurring_form.tsx";
import { recurringJobTexts } from "./recurring_texts.ts";

/** Pages of recurring jobs and their actions. */
export const recurringPages: ConsolePage[] = [
  { path: "recurring", get: recurringPage },
  // Not recurring/new: users choose the ids, and an id may be "new".
  { path: "recurring/new/form", get: newRecurringPage, post: createRecurring },
  { path: "recurring/{id}", get: recurringJobPage },
  { path: "recurring/{id}/edit", get: editRecurringPage, post: changeRecurring },
  { path: "recurring/{id}/pause", post: (v) => setPaused(v, "pause", recurringJobTexts[v.locale].pausedNow) },
  { path: "recurring/{id}/resume", post: (v) => setPaused(v, "resume", recurringJobTexts[v.locale].resumed) },
  {
    path: "recurring/{id}/trigger",
    async post(v) {
      const job = await v.api.send<Job>("POST", `${apiPathOf(v.params.id ?? "")}/trigger`);
      return { goTo: `jobs/${job.id}`, flash: { tone: "ok", text: recurringJobTexts[v.locale].triggered } };
    },
  },
  {
    path: "recurring/{id}/delete",
    async post(v) {
      await v.api.send("DELETE", apiPathOf(v.params.id ?? ""));
      return { goTo: "recurring", flash: { tone: "ok", text: recurringJobTexts[v.locale].removed } };
    },
  },
];

async function setPaused(v: Visit, verb: "pause" | "resume", text: string): Promise<Outcome> {
  const id = v.params.id ?? "";
  await v.api.send("POST", `${apiPathOf(id)}/${verb}`);
  return { goTo: pathOf(id), flash: { tone: "ok", text } };
}
