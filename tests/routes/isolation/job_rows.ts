import type { Row, Rows } from "./rows.ts";

const job = (more: Record<string, string> = {}): Row => ({
  names: (id) => ({ params: { id: id("job"), ...more } }),
  code: "JOB_NOT_FOUND",
});
const recurring = (body?: unknown): Row => ({
  names: (id) => ({ params: { id: id("recurringJob") }, ...(body === undefined ? {} : { body }) }),
  code: "JOB_RECURRING_NOT_FOUND",
});
/** Lists and bulk changes accept a tenantId only from system administrators. */
const many = (body?: unknown): Row => ({
  own: ({ ids }) => ({ query: { tenantId: ids.tenant }, ...(body === undefined ? {} : { body }) }),
});

/** Background jobs. */
export const jobRows: Rows = {
  listJobs: many(),
  readJobStats: many(),
  countJobsByStatus: many(),
  readJobThroughput: many(),
  listJobQueues: many(),
  listJobTypes: { own: () => ({}) },
  listJobWorkers: { refused: "MISSING_PERMISSION", ask: () => ({}) },
  listJobContinuations: job(),
  readJob: job(),
  listJobExecutions: job(),
  listJobLogLines: job({ attemptNumber: "1" }),
  enqueueJob: {
    names: (id) => ({ body: { jobTypeName: "steward.echo", parentJobId: id("job") } }),
    code: "VALIDATION_ERROR",
  },
  enqueueJobs: { own: () => ({ body: { items: [{ jobTypeName: "steward.echo" }] } }) },
  cancelJob: job(),
  retryJobNow: job(),
  listRecurringJobs: many(),
  readRecurringJob: recurring(),
  createRecurringJob: {
    own: () => ({
      body: { jobId: "outsiders-recurring", jobTypeName: "steward.echo", cronExpression: "0 4 * * *" },
    }),
  },
  updateRecurringJob: recurring({ queue: "mallory" }),
  deleteRecurringJob: recurring(),
  pauseRecurringJob: recurring(),
  resumeRecurringJob: recurring(),
  triggerRecurringJob: recurring(),
  listRecurringJobNextRuns: recurring(),
  listRecurringJobRuns: recurring(),
  listDeadLetters: many(),
  listDeadLetterGroups: many(),
  retryDeadLetters: many({}),
  purgeDeadLetters: many({}),
  readDeadLetter: {
    names: (id) => ({ params: { id: id("deadLetter") } }),
    code: "JOB_DEADLETTER_NOT_FOUND",
  },
  retryDeadLetter: {
    names: (id) => ({ params: { id: id("deadLetter") } }),
    code: "JOB_DEADLETTER_NOT_FOUND",
  },
};
