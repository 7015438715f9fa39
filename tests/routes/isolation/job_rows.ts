import { named, type Row, type Rows } from "./rows.ts";

const job = (params: Record<string, string> = {}) => named("job", "JOB_NOT_FOUND", { params });
const recurring = (body?: unknown) => named("recurringJob", "JOB_RECURRING_NOT_FOUND", { body });
const jobType = (): Row => ({
  names: (id) => ({ params: { name: id("jobType") } }),
  code: "JOB_TYPE_NOT_FOUND",
});
const deadLetter = named("deadLetter", "JOB_DEADLETTER_NOT_FOUND");
const batch = (body?: unknown) => named("jobBatch", "JOB_BATCH_NOT_FOUND", { body });
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
  listJobPauses: { own: () => ({}) },
  pauseJobQueue: { own: () => ({ params: { queue: "mallory" } }) },
  resumeJobQueue: { own: () => ({ params: { queue: "mallory" } }) },
  pauseJobType: { own: () => ({ params: { name: "steward.echo" } }) },
  resumeJobType: { own: () => ({ params: { name: "steward.echo" } }) },
  listJobTypes: { own: () => ({}) },
  readJobTypeStats: {
    own: ({ ids }) => ({ params: { name: "steward.echo" }, query: { tenantId: ids.tenant } }),
  },
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
  requestJobCancel: job(),
  retryJobNow: job(),
  retryJob: job(),
  listJobBatches: many(),
  readJobBatch: batch(),
  listJobsOfBatch: batch(),
  createJobBatch: { own: () => ({ body: { jobs: [{ jobTypeName: "steward.echo" }] } }) },
  addToJobBatch: batch({ jobs: [{ jobTypeName: "steward.echo" }] }),
  cancelJobBatch: batch(),
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
  listDeclaredJobTypes: { own: () => ({}) },
  readDeclaredJobType: jobType(),
  putJobType: { own: () => ({ params: { name: "outsiders.type" }, body: {} }) },
  deleteJobType: jobType(),
  rotateJobTypeSecret: jobType(),
  claimWork: {
    names: (id) => ({ body: { types: [id("jobType")], worker: "outsider" } }),
    code: "JOB_TYPE_UNKNOWN",
  },
  heartbeatWork: { own: () => ({ body: { jobs: [] } }) },
  settleWork: { own: () => ({ body: { jobs: [] } }) },
  listDeadLetters: many(),
  listDeadLetterGroups: many(),
  retryDeadLetters: many({ all: true }),
  purgeDeadLetters: many({}),
  readDeadLetter: deadLetter,
  discardDeadLetter: deadLetter,
  retryDeadLetter: deadLetter,
};
