import { all, named, ofPlatform, ofTenant, own, type Rows } from "./rows.ts";

const job = (params: Record<string, string> = {}) => named("job", "JOB_NOT_FOUND", { params });
const recurring = (body?: unknown) => named("recurringJob", "JOB_RECURRING_NOT_FOUND", { body });
const batch = (body?: unknown) => named("jobBatch", "JOB_BATCH_NOT_FOUND", { body });
const ECHO = { jobTypeName: "steward.echo" };

/** Background jobs. */
export const jobRows: Rows = {
  ...all(
    `listJobs readJobStats countJobsByStatus readJobThroughput listJobQueues listJobBatches listRecurringJobs
    listDeadLetters listDeadLetterGroups`,
    ofTenant(),
  ),
  ...all("listJobPauses listJobTypes listDeclaredJobTypes", own()),
  ...all("pauseJobQueue resumeJobQueue", own({ params: { queue: "mallory" } })),
  ...all("pauseJobType resumeJobType", own({ params: { name: "steward.echo" } })),
  readJobTypeStats: ofTenant({ params: { name: "steward.echo" } }),
  listJobWorkers: ofPlatform(),
  ...all(
    "listJobContinuations readJob listJobExecutions cancelJob requestJobCancel retryJobNow retryJob",
    job(),
  ),
  listJobLogLines: job({ attemptNumber: "1" }),
  enqueueJob: {
    names: (id) => ({ body: { ...ECHO, parentJobId: id("job") } }),
    code: "VALIDATION_ERROR",
  },
  enqueueJobs: own({ body: { items: [ECHO] } }),
  ...all("readJobBatch listJobsOfBatch cancelJobBatch", batch()),
  createJobBatch: own({ body: { jobs: [ECHO] } }),
  addToJobBatch: batch({ jobs: [ECHO] }),
  ...all(
    `readRecurringJob deleteRecurringJob pauseRecurringJob resumeRecurringJob triggerRecurringJob
    listRecurringJobNextRuns listRecurringJobRuns`,
    recurring(),
  ),
  createRecurringJob: own({ body: { ...ECHO, jobId: "outsiders-recurring", cronExpression: "0 4 * * *" } }),
  updateRecurringJob: recurring({ queue: "mallory" }),
  ...all("readDeclaredJobType deleteJobType rotateJobTypeSecret", {
    names: (id) => ({ params: { name: id("jobType") } }),
    code: "JOB_TYPE_NOT_FOUND",
  }),
  putJobType: own({ params: { name: "outsiders.type" }, body: {} }),
  claimWork: {
    names: (id) => ({ body: { types: [id("jobType")], worker: "outsider" } }),
    code: "JOB_TYPE_UNKNOWN",
  },
  ...all("heartbeatWork settleWork", own({ body: { jobs: [] } })),
  retryDeadLetters: ofTenant({ body: { all: true } }),
  purgeDeadLetters: ofTenant({ body: {} }),
  ...all(
    "readDeadLetter discardDeadLetter retryDeadLetter",
    named("deadLetter", "JOB_DEADLETTER_NOT_FOUND"),
  ),
};
