import { Refusal } from "../shared/api.ts";
import { defineTexts, withCount } from "../shared/languages.ts";
import { rowActions } from "../shared/row_actions.ts";
import type { Job, JobStatus } from "./job_status.tsx";

const texts = defineTexts({
  retry: ["Retry", "Repetir"],
  retryMany: (count: number) => [
    `Retry ${withCount("en", count, "job", "jobs")}?`,
    `Repetir ${withCount("pt", count, "tarefa", "tarefas")}?`,
  ],
  cancel: ["Cancel jobs", "Cancelar tarefas"],
  cancelMany: (count: number) => [
    `Cancel ${withCount("en", count, "job", "jobs")}?`,
    `Cancelar ${withCount("pt", count, "tarefa", "tarefas")}?`,
  ],
});

const RETRIED: readonly JobStatus[] = ["Failed", "DeadLettered", "Cancelled"];
const ENDED: readonly JobStatus[] = ["Succeeded", "DeadLettered", "Cancelled"];

/** The actions on many jobs. */
export const jobActions = rowActions<Job>({
  retry: {
    label: (v) => texts[v.locale].retry,
    question: (v, count) => texts[v.locale].retryMany(count),
    fits: ({ status }) => RETRIED.includes(status),
    run: (v, id, _fields, once) =>
      otherwise(
        "JOB_CANNOT_RETRY",
        () => v.api.call("retryJob", { params: { id }, body: {}, headers: { "idempotency-key": once } }),
        () => v.api.call("retryJobNow", { params: { id } }), // it waits for its next attempt
      ),
  },
  cancel: {
    label: (v) => texts[v.locale].cancel,
    question: (v, count) => texts[v.locale].cancelMany(count),
    tone: "danger",
    fits: ({ status }) => !ENDED.includes(status),
    run: (v, id) =>
      otherwise(
        "JOB_CANNOT_CANCEL",
        () => v.api.call("cancelJob", { params: { id } }),
        () => v.api.call("requestJobCancel", { params: { id } }), // it runs: its worker is asked
      ),
  },
});

/** Runs the second call if the API refuses the first with `code`. */
async function otherwise(
  code: string,
  first: () => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<unknown> {
  try {
    return await first();
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.code === code) return await second();
    throw refusal;
  }
}
