import { z } from "zod";
import {
  BATCH_STATUSES,
  JobBatch,
  listBatches,
  listBatchJobs,
  readBatch,
} from "../../domain/jobs/batches/batch_row.ts";
import {
  addToBatch,
  cancelBatch,
  createBatch,
  jobItems,
  RequestedBatch,
} from "../../domain/jobs/control/batches.ts";
import { JobSummary } from "../../domain/jobs/job_row.ts";
import { jobReach } from "../../domain/jobs/reach.ts";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { created, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery } from "../shared/validation.ts";
import { enumName, uuid } from "../../domain/shared/shapes.ts";
import { ofTenant, readJobs, requireKnownArgs, status } from "./shapes.ts";

const endpoint = endpointsIn("Jobs");

const access = inTenantOrService();
/** Common members of the routes of one batch. */
const ofOne = { access, params: z.object({ id: uuid }) } as const;

const AddToBatchRequest = z.object({
  jobs: jobItems.default([]),
  close: z.boolean().default(false).describe("No more jobs follow"),
}).refine(({ jobs, close }) => jobs.length > 0 || close, {
  path: ["jobs"],
  error: "expected at least one job, or close: true",
}).meta({ id: "AddToJobBatchRequest" });

const theBatch = { 200: { description: "The batch", schema: JobBatch } };

/** Batches: jobs that are enqueued together, with a job for each outcome. */
export const batchRoutes = [
  endpoint("GET /api/v1/jobs/batches", {
    id: "listJobBatches",
    summary: "List batches of jobs, newest first",
    access,
    query: z.object({ ...pageQuery(), ...ofTenant, status: enumName(BATCH_STATUSES).optional() }),
    answers: { 200: { description: "A page of batches", schema: pagedResultOf(JobBatch) } },
    run: async ({ db, caller, query }) => ok(await listBatches(db, jobReach(caller, query.tenantId), query)),
  }),
  endpoint("GET /api/v1/jobs/batches/{id}", {
    id: "readJobBatch",
    summary: "Read a batch with the number of its jobs by status",
    ...ofOne,
    answers: theBatch,
    problems: ["JOB_BATCH_NOT_FOUND"],
    run: async ({ db, caller, params }) => ok(await readBatch(db, jobReach(caller), params.id)),
  }),
  endpoint("GET /api/v1/jobs/batches/{id}/jobs", {
    id: "listJobsOfBatch",
    summary: "List the jobs of a batch, oldest first",
    ...ofOne,
    query: z.object({ ...pageQuery(), status: status.optional() }),
    answers: { 200: { description: "A page of jobs", schema: pagedResultOf(JobSummary) } },
    problems: ["JOB_BATCH_NOT_FOUND"],
    run: async ({ db, caller, params, query }) =>
      ok(await listBatchJobs(db, jobReach(caller), params.id, query)),
  }),
  endpoint("POST /api/v1/jobs/batches", {
    id: "createJobBatch",
    summary: "Enqueue up to 1,000 jobs as a batch, all or none",
    details:
      "`onAllSucceeded` is enqueued once when all jobs have succeeded, `onAnyFailed` once when the first one is " +
      "dead-lettered or cancelled. With `open: true`, more jobs can be added until the batch is closed; only then it can " +
      "succeed. Jobs of a batch cannot have a `uniqueKey`.",
    access,
    body: RequestedBatch,
    creates: "atomically",
    answers: { 201: { description: "The batch", schema: JobBatch } },
    problems: ["JOB_TYPE_UNKNOWN", "MISSING_PERMISSION"],
    async run({ platform, caller, body, call }) {
      for (const member of ["onAllSucceeded", "onAnyFailed"] as const) {
        if (body[member]) requireKnownArgs(platform, call, body[member], [member]);
      }
      const jobs = readJobs(platform, call, body.jobs, "jobs");
      const batch = await createBatch(platform, caller, { ...body, jobs });
      return created(batch, `/api/v1/jobs/batches/${batch.id}`);
    },
  }),
  endpoint("POST /api/v1/jobs/batches/{id}/jobs", {
    id: "addToJobBatch",
    summary: "Add up to 1,000 jobs to an open batch, all or none, or close it",
    ...ofOne,
    body: AddToBatchRequest,
    creates: "atomically",
    answers: theBatch,
    problems: ["JOB_BATCH_NOT_FOUND", "JOB_BATCH_CLOSED_CONFLICT", "JOB_TYPE_UNKNOWN", "MISSING_PERMISSION"],
    async run({ platform, caller, params, body, call }) {
      const jobs = readJobs(platform, call, body.jobs, "jobs");
      return ok(await addToBatch(platform, caller, params.id, { jobs, close: body.close }));
    },
  }),
  endpoint("POST /api/v1/jobs/batches/{id}/cancel", {
    id: "cancelJobBatch",
    summary: "Cancel the jobs of a batch that have not started or wait for a retry",
    ...ofOne,
    answers: theBatch,
    problems: ["JOB_BATCH_NOT_FOUND", "JOB_BATCH_ALREADY_CANCELLED", "JOB_BATCH_CANNOT_CANCEL"],
    run: async ({ platform, caller, params }) => ok(await cancelBatch(platform, caller, params.id)),
  }),
] as const;
