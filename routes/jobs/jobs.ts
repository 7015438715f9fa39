import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { enqueueRequestedJob, enqueueRequestedJobs } from "../../domain/jobs/enqueue_requested.ts";
import { listExecutions, listLogLines } from "../../domain/jobs/executions.ts";
import { cancelJob, retryJobNow } from "../../domain/jobs/job_control.ts";
import { JOB_ORDERS, listJobs } from "../../domain/jobs/job_list.ts";
import { jobSummary, PRIORITIES, readJob } from "../../domain/jobs/job_row.ts";
import { jobReach } from "../../domain/jobs/reach.ts";
import { listContinuations } from "../../domain/jobs/related_jobs.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { created, ok } from "../shared/answer.ts";
import { readItems } from "../shared/bulk.ts";
import type { Call } from "../shared/call.ts";
import { endpoint } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/paging.ts";
import { enumName, queryBoolean, queryInteger, uuid } from "../shared/validation.ts";
import { jobStatisticsRoutes } from "./job_statistics.ts";
import {
  BulkEnqueueRequest,
  BulkEnqueueResponse,
  EnqueueRequest,
  JobExecutionDto,
  jobFilters,
  JobLogLineDto,
  JobSummaryDto,
  status,
} from "./shapes.ts";

const access = inTenantOrService();
const byId = z.object({ id: uuid });
const theJob = { 200: { description: "The job", schema: JobSummaryDto } };
const order = enumName(JOB_ORDERS);

/** Jobs: enqueue, list, read, cancel, retry now. */
export const jobRoutes = [
  endpoint({
    method: "get",
    path: "/api/v1/jobs",
    area: "Jobs",
    id: "listJobs",
    summary: "List jobs",
    access,
    query: z.object({
      ...pageQuery(),
      ...jobFilters,
      status: status.optional(),
      orderBy: order.default("CreatedAt"),
      ascending: queryBoolean.default(false),
    }),
    answers: { 200: { description: "A page of jobs", schema: pagedResultOf(JobSummaryDto) } },
    problems: [],
    run: async ({ db, caller, query: { tenantId, priority, ...query } }) =>
      ok(
        await listJobs(db, jobReach(caller, tenantId), {
          ...query,
          ...(priority ? { priority: PRIORITIES.indexOf(priority) } : {}),
        }),
      ),
  }),
  ...jobStatisticsRoutes,
  endpoint({
    method: "get",
    path: "/api/v1/jobs/{id}/continuations",
    area: "Jobs",
    id: "listJobContinuations",
    summary: "List the first hundred continuations of a job, oldest first",
    access,
    params: byId,
    answers: { 200: { description: "The continuations", schema: z.array(JobSummaryDto) } },
    problems: ["JOB_NOT_FOUND"],
    run: async ({ db, caller, params }) => ok(await listContinuations(db, jobReach(caller), params.id)),
  }),
  endpoint({
    method: "get",
    path: "/api/v1/jobs/{id}",
    area: "Jobs",
    id: "readJob",
    summary: "Read a job",
    access,
    params: byId,
    answers: theJob,
    problems: ["JOB_NOT_FOUND"],
    run: async ({ db, caller, params }) => ok(jobSummary(await readJob(db, jobReach(caller), params.id))),
  }),
  endpoint({
    method: "get",
    path: "/api/v1/jobs/{id}/executions",
    area: "Jobs",
    id: "listJobExecutions",
    summary: "List a job's attempts, newest first",
    access,
    params: byId,
    query: z.object(pageQuery()),
    answers: { 200: { description: "A page of attempts", schema: pagedResultOf(JobExecutionDto) } },
    problems: ["JOB_NOT_FOUND"],
    run: async ({ db, caller, params, query }) =>
      ok(await listExecutions(db, jobReach(caller), params.id, query)),
  }),
  endpoint({
    method: "get",
    path: "/api/v1/jobs/{id}/executions/{attemptNumber}/log",
    area: "Jobs",
    id: "listJobLogLines",
    summary: "List the log lines of an attempt, oldest first",
    access,
    params: z.object({ id: uuid, attemptNumber: queryInteger(1, 2_147_483_647) }),
    query: z.object(pageQuery()),
    answers: { 200: { description: "A page of log lines", schema: pagedResultOf(JobLogLineDto) } },
    problems: ["JOB_NOT_FOUND"],
    run: async ({ db, caller, params, query }) =>
      ok(await listLogLines(db, jobReach(caller), params.id, params.attemptNumber, query)),
  }),
  endpoint({
    method: "post",
    path: "/api/v1/jobs",
    area: "Jobs",
    id: "enqueueJob",
    summary: "Enqueue a job",
    access,
    body: EnqueueRequest,
    creates: "atomically",
    answers: { 201: { description: "The job", schema: JobSummaryDto } },
    problems: ["JOB_TYPE_UNKNOWN", "MISSING_PERMISSION"],
    async run({ platform, caller, body, call }) {
      requireKnownArgs(platform, call, body);
      const job = await enqueueRequestedJob(platform, caller, body);
      return created(job, `/api/v1/jobs/${job.id}`);
    },
  }),
  endpoint({
    method: "post",
    path: "/api/v1/jobs/bulk",
    area: "Jobs",
    id: "enqueueJobs",
    summary: "Enqueue up to 1,000 jobs at once",
    access,
    lateBody: BulkEnqueueRequest,
    creates: "atomically",
    answers: { 200: { description: "The enqueued jobs and the failed items", schema: BulkEnqueueResponse } },
    problems: ["JOB_TYPE_UNKNOWN", "MISSING_PERMISSION"],
    async run({ platform, caller, call }) {
      const { items, continueOnError } = await call.readJson(BulkEnqueueRequest, { anyText: true }); // each item is checked alone
      const jobs = readItems(
        call,
        EnqueueRequest,
        items,
        (item, at) => requireKnownArgs(platform, call, item, at),
      );
      return ok(await enqueueRequestedJobs(platform, caller, jobs, continueOnError));
    },
  }),
  endpoint({
    method: "post",
    path: "/api/v1/jobs/{id}/cancel",
    area: "Jobs",
    id: "cancelJob",
    summary: "Cancel a job that has not started or waits for a retry",
    access,
    params: byId,
    answers: theJob,
    problems: ["JOB_NOT_FOUND", "JOB_ALREADY_CANCELLED", "JOB_CANNOT_CANCEL"],
    run: async ({ db, caller, params }) => ok(await cancelJob(db, caller, params.id)),
  }),
  endpoint({
    method: "post",
    path: "/api/v1/jobs/{id}/retry-now",
    area: "Jobs",
    id: "retryJobNow",
    summary: "Retry a failed job now, without waiting for its delay",
    access,
    params: byId,
    answers: theJob,
    problems: ["JOB_NOT_FOUND", "JOB_CANNOT_RETRY"],
    run: async ({ platform, caller, params }) => ok(await retryJobNow(platform, caller, params.id)),
  }),
] as const;

/**
 * Checks job arguments for unknown members, like a body. Skips types that callers cannot enqueue; the domain refuses them.
 * @param at path of the object with the arguments in the body
 * @throws VALIDATION_ERROR for an unknown member that looks like a known one
 */
export function requireKnownArgs(
  p: Pick<ServicePlatform, "jobTypes">,
  call: Call,
  { jobTypeName, serializedArgs }: { jobTypeName: string; serializedArgs: string },
  at: (string | number)[] = [],
): void {
  const type = p.jobTypes.get(jobTypeName);
  if (type?.exposed) call.requireKnownMembers(type.args, serializedArgs, "serializedArgs", at);
}
