import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import {
  enqueueRequestedJob,
  enqueueRequestedJobs,
  RequestedJob,
} from "../../domain/jobs/control/enqueue_requested.ts";
import { searchErrors } from "../../domain/jobs/lists/error_search.ts";
import {
  JobDetail,
  JobExecution,
  JobLogLine,
  listContinuations,
  listExecutions,
  listLogLines,
  readJobDetail,
} from "../../domain/jobs/lists/job_detail.ts";
import { cancelJob, requestCancel, retryJobNow } from "../../domain/jobs/control/job_control.ts";
import { JOB_ORDERS, listJobs } from "../../domain/jobs/lists/job_list.ts";
import { JobSummary, readJob } from "../../domain/jobs/job_row.ts";
import { jobReach } from "../../domain/jobs/reach.ts";
import { retryJob } from "../../domain/jobs/control/dead_letters.ts";
import { accepted, created, ok } from "../shared/answer.ts";
import { bulkRequest, bulkResponseOf } from "../shared/bulk.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { enumName, uuid } from "../../domain/shared/shapes.ts";
import { pagedResultOf, pageQuery, queryBoolean, queryInteger } from "../shared/validation.ts";
import { givenArgs, RETRY_REFUSALS, retrying } from "./dead_letter_jobs.ts";
import { batchRoutes } from "./batches.ts";
import { BY_ARGUMENTS, filtersOf, searchedFromHeader } from "./filters.ts";
import { jobStatisticsRoutes } from "./job_statistics.ts";
import { furtherJobFilters, jobFilters, readJobs, requireKnownArgs, status } from "./shapes.ts";

const endpoint = endpointsIn("Jobs");

const access = inTenantOrService();
/** Common members of the routes of one job. */
const ofOne = { access, params: z.object({ id: uuid }) } as const;
/** Header of an answer with a job that existed already. */
export const DUPLICATE = { "steward-duplicate": "true" };
const theJob = { 200: { description: "The job", schema: JobSummary } };

const BulkEnqueueRequest = bulkRequest.meta({
  id: "BulkEnqueueRequest",
  description: "Each item is an EnqueueJobRequest",
});

const BulkEnqueueResponse = bulkResponseOf(JobSummary).extend({
  duplicates: z.array(z.int()).describe(
    "Indexes of the items whose key another job holds; their result is that job",
  ),
}).meta({ id: "BulkEnqueueResponse" });

/** Jobs: enqueue, list, read, cancel, retry now. */
export const jobRoutes = [
  endpoint("GET /api/v1/jobs", {
    id: "listJobs",
    summary: "List jobs",
    details: BY_ARGUMENTS,
    access,
    query: z.object({
      ...pageQuery(),
      status: status.optional(),
      ...jobFilters,
      orderBy: enumName(JOB_ORDERS).default("CreatedAt"),
      ascending: queryBoolean.default(false),
      ...furtherJobFilters,
    }),
    answers: { 200: { description: "A page of jobs", schema: pagedResultOf(JobSummary) } },
    async run({ platform, db, caller, call, query: { tenantId, ...query } }) {
      const reach = jobReach(caller, tenantId);
      const filters = await filtersOf(platform, tenantId ?? caller.tenantId, call.url, query);
      const found = await searchErrors(db, reach, filters);
      return found ? ok(found.page, searchedFromHeader(found)) : ok(await listJobs(db, reach, filters));
    },
  }),
  ...jobStatisticsRoutes,
  ...batchRoutes,
  endpoint("GET /api/v1/jobs/{id}/continuations", {
    id: "listJobContinuations",
    summary: "List the first hundred continuations of a job, oldest first",
    ...ofOne,
    answers: { 200: { description: "The continuations", schema: z.array(JobSummary) } },
    problems: ["JOB_NOT_FOUND"],
    run: async ({ db, caller, params }) => ok(await listContinuations(db, jobReach(caller), params.id)),
  }),
  endpoint("GET /api/v1/jobs/{id}", {
    id: "readJob",
    service: "point read",
    summary: "Read a job",
    ...ofOne,
    answers: { 200: { description: "The job", schema: JobDetail } },
    problems: ["JOB_NOT_FOUND"],
    run: async ({ db, caller, params }) => ok(await readJobDetail(db, caller, jobReach(caller), params.id)),
  }),
  endpoint("GET /api/v1/jobs/{id}/executions", {
    id: "listJobExecutions",
    summary: "List a job's attempts, newest first",
    ...ofOne,
    query: z.object(pageQuery()),
    answers: { 200: { description: "A page of attempts", schema: pagedResultOf(JobExecution) } },
    problems: ["JOB_NOT_FOUND"],
    run: async ({ db, caller, params, query }) =>
      ok(await listExecutions(db, jobReach(caller), params.id, query)),
  }),
  endpoint("GET /api/v1/jobs/{id}/executions/{attemptNumber}/log", {
    id: "listJobLogLines",
    summary: "List the log lines of an attempt, oldest first",
    access,
    params: z.object({ id: uuid, attemptNumber: queryInteger(1, 2_147_483_647) }),
    query: z.object(pageQuery()),
    answers: { 200: { description: "A page of log lines", schema: pagedResultOf(JobLogLine) } },
    problems: ["JOB_NOT_FOUND"],
    run: async ({ db, caller, params, query }) =>
      ok(await listLogLines(db, jobReach(caller), params.id, params.attemptNumber, query)),
  }),
  endpoint("POST /api/v1/jobs", {
    id: "enqueueJob",
    summary: "Enqueue a job",
    access,
    body: RequestedJob,
    creates: "atomically",
    details:
      "With a `uniqueKey`, the job is enqueued unless another job of the same tenant and type holds the key. Then the " +
      "answer is 200 with that job and the header `Steward-Duplicate: true`. A job holds its key for `uniqueFor`. An " +
      "`Idempotency-Key` is looked at first.",
    answers: {
      200: { description: "The job that holds the uniqueKey", schema: JobSummary },
      201: { description: "The job", schema: JobSummary },
    },
    problems: ["JOB_TYPE_UNKNOWN", "MISSING_PERMISSION"],
    async run({ platform, caller, body, call }) {
      requireKnownArgs(platform, call, body);
      const { job, isDuplicate } = await enqueueRequestedJob(platform, caller, body);
      return isDuplicate ? ok(job, DUPLICATE) : created(job, `/api/v1/jobs/${job.id}`);
    },
  }),
  endpoint("POST /api/v1/jobs/bulk", {
    id: "enqueueJobs",
    summary: "Enqueue up to 1,000 jobs at once",
    access,
    details:
      "An item whose `uniqueKey` another job holds results in that job. `duplicates` has the indexes of these items, and " +
      "the answer has the header `Steward-Duplicate: true`.",
    content: { json: BulkEnqueueRequest },
    creates: "atomically",
    answers: { 200: { description: "The enqueued jobs and the failed items", schema: BulkEnqueueResponse } },
    problems: ["JOB_TYPE_UNKNOWN", "MISSING_PERMISSION"],
    async run({ platform, caller, call }) {
      const { items, continueOnError } = await call.readJson(BulkEnqueueRequest, { anyText: true }); // each item is checked alone
      const jobs = readJobs(platform, call, items);
      const outcome = await enqueueRequestedJobs(platform, caller, jobs, continueOnError);
      return ok(outcome, outcome.duplicates.length > 0 ? DUPLICATE : {});
    },
  }),
  endpoint("POST /api/v1/jobs/{id}/cancel", {
    id: "cancelJob",
    summary: "Cancel a job that has not started or waits for a retry",
    ...ofOne,
    answers: theJob,
    problems: ["JOB_NOT_FOUND", "JOB_ALREADY_CANCELLED", "JOB_CANNOT_CANCEL"],
    run: async ({ platform, caller, params }) => ok(await cancelJob(platform, caller, params.id)),
  }),
  endpoint("POST /api/v1/jobs/{id}/retry", {
    id: "retryJob",
    summary: "Enqueue an ended job again as a new job, with the same or other arguments",
    details: "A dead-lettered job is retried like its dead letter, once.",
    ...ofOne,
    ...retrying,
    problems: ["JOB_NOT_FOUND", "JOB_CANNOT_RETRY", "JOB_DEADLETTER_ALREADY_RETRIED", ...RETRY_REFUSALS],
    async run({ platform, db, caller, params, body, call }) {
      const serializedArgs = givenArgs(body, call);
      if (serializedArgs !== null) {
        const { jobTypeName } = await readJob(db, jobReach(caller), params.id);
        requireKnownArgs(platform, call, { jobTypeName, serializedArgs });
      }
      return ok(await retryJob(platform, caller, params.id, serializedArgs));
    },
  }),
  endpoint("POST /api/v1/jobs/{id}/request-cancel", {
    id: "requestJobCancel",
    summary: "Ask the worker of a running job to stop it",
    details:
      "The handler's signal aborts, and a remote worker hears it by heartbeat. A job that succeeds nevertheless is Succeeded; any other end of the attempt cancels it.",
    ...ofOne,
    answers: { 202: { description: "The job, with `cancelRequestedAt`", schema: JobSummary } },
    problems: ["JOB_NOT_FOUND", "JOB_ALREADY_CANCELLED", "JOB_CANNOT_CANCEL"],
    run: async ({ db, caller, params }) =>
      accepted(await requestCancel(db, caller, params.id), `/api/v1/jobs/${params.id}`),
  }),
  endpoint("POST /api/v1/jobs/{id}/retry-now", {
    id: "retryJobNow",
    summary: "Retry a failed or postponed job now, without waiting for its delay",
    ...ofOne,
    answers: theJob,
    problems: ["JOB_NOT_FOUND", "JOB_CANNOT_RETRY"],
    run: async ({ platform, caller, params }) => ok(await retryJobNow(platform, caller, params.id)),
  }),
] as const;
