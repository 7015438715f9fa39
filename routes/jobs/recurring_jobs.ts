import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { jobReach } from "../../domain/jobs/reach.ts";
import {
  createRecurringJob,
  deleteRecurringJob,
  listRecurringJobs,
  listRuns,
  readNextRuns,
  readRecurringJob,
  RecurringJob,
  setRecurringPause,
  triggerRecurringJob,
  updateRecurringJob,
} from "../../domain/jobs/recurring/recurring.ts";
import { serializedArgs } from "../../domain/jobs/control/enqueue_requested.ts";
import { unique, uniqueFor, uniqueKey } from "../../domain/jobs/unique_jobs.ts";
import { orNull, orReset, orUndefined, requiredText, withDefault } from "../../domain/shared/shapes.ts";
import { definedMembers } from "../../domain/shared/defined_members.ts";
import { JobSummary, queueName } from "../../domain/jobs/job_row.ts";
import { created, noContentAfter, ok, versionedAnswer } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { pagedResultOf, pageQuery, queryInteger } from "../shared/validation.ts";
import { DUPLICATE } from "./jobs.ts";
import { ofTenant, requireKnownArgs } from "./shapes.ts";

const endpoint = endpointsIn("Jobs");

const NextRunsDto = z.object({ nextRuns: z.array(z.iso.datetime()) })
  .meta({ id: "NextRunsDto", description: "The next due times of a schedule, soonest first" });

const schedule = {
  cronExpression: requiredText(200),
  timeZoneId: requiredText(100),
};

const CreateRecurringJobRequest = z.object({
  jobId: z.string().regex(
    /^(?!\.\.?$)[A-Za-z0-9._:-]{1,100}$/, // a URL cannot contain `.` and `..` as a segment
    "expected 1 to 100 of A-Z, a-z, 0-9, dot, underscore, colon and dash, other than . and ..",
  ),
  jobTypeName: requiredText(200),
  ...schedule,
  timeZoneId: withDefault(schedule.timeZoneId, "UTC"),
  queue: withDefault(queueName, "default"),
  serializedArgs: withDefault(serializedArgs, "{}"),
  argsTypeName: orNull(z.string().max(200)),
  ...unique,
}).meta({ id: "CreateRecurringJobRequest" });

const UpdateRecurringJobRequest = z.object({
  cronExpression: orUndefined(schedule.cronExpression),
  timeZoneId: orReset(schedule.timeZoneId, "UTC"),
  queue: orReset(queueName, "default"),
  serializedArgs: orReset(serializedArgs, "{}"),
  argsTypeName: z.string().max(200).nullish(),
  uniqueKey: uniqueKey.nullish(),
  uniqueFor: uniqueFor.nullish(),
}).meta({
  id: "UpdateRecurringJobRequest",
  description: "Omitted members keep their values; null sets the default of the creation",
});

const access = inTenantOrService();

/** Any text: an invalid id answers 404. */
const byId = z.object({ id: z.string() });
/** Several tenants may have a recurring job with the same id. */
const ofItsTenant = {
  tenantId: ofTenant.tenantId.describe("The tenant whose recurring job it is, for system administrators"),
};
const theVersionedJob = {
  200: { etag: true as const, description: "The recurring job", schema: RecurringJob },
};
const theRecurringJob = { 200: { description: "The recurring job", schema: RecurringJob } };
/** Common members of the routes of one recurring job. */
const ofOne = { access, params: byId, query: z.object(ofItsTenant) } as const;

/** Recurring jobs: a cron expression in a time zone and the job it enqueues. */
export const recurringJobRoutes = [
  endpoint("GET /api/v1/recurring-jobs", {
    id: "listRecurringJobs",
    summary: "List recurring jobs by id",
    access,
    query: z.object({ ...pageQuery(), ...ofTenant }),
    answers: { 200: { description: "A page of recurring jobs", schema: pagedResultOf(RecurringJob) } },
    run: async ({ db, caller, query }) =>
      ok(await listRecurringJobs(db, jobReach(caller, query.tenantId), query)),
  }),
  endpoint("GET /api/v1/recurring-jobs/{id}", {
    ...ofOne,
    id: "readRecurringJob",
    service: "point read",
    summary: "Read a recurring job",
    answers: theVersionedJob,
    problems: ["JOB_RECURRING_NOT_FOUND"],
    run: async ({ db, caller, params, query }) =>
      versionedAnswer(await readRecurringJob(db, caller, { ...params, ...query })),
  }),
  endpoint("GET /api/v1/recurring-jobs/{id}/next-runs", {
    id: "listRecurringJobNextRuns",
    summary: "Read the next due times of a recurring job, paused or not",
    access,
    params: byId,
    query: z.object({ ...ofItsTenant, count: queryInteger(1, 50).default(5) }),
    answers: { 200: { description: "The next due times", schema: NextRunsDto } },
    problems: ["JOB_RECURRING_NOT_FOUND"],
    run: async ({ platform, caller, params, query }) =>
      ok({ nextRuns: await readNextRuns(platform, caller, { ...params, ...query }, query.count) }),
  }),
  endpoint("GET /api/v1/recurring-jobs/{id}/runs", {
    id: "listRecurringJobRuns",
    summary: "List the latest jobs of a recurring job, newest first",
    access,
    params: byId,
    query: z.object({ ...ofItsTenant, limit: queryInteger(1, 100).default(10) }),
    answers: { 200: { description: "The jobs", schema: z.array(JobSummary) } },
    problems: ["JOB_RECURRING_NOT_FOUND"],
    run: async ({ db, caller, params, query }) =>
      ok(await listRuns(db, caller, { ...params, ...query }, query.limit)),
  }),
  endpoint("POST /api/v1/recurring-jobs", {
    id: "createRecurringJob",
    summary: "Create a recurring job",
    access,
    body: CreateRecurringJobRequest,
    creates: "atomically",
    answers: { 201: { description: "The recurring job", schema: RecurringJob } },
    problems: ["JOB_TYPE_UNKNOWN", "MISSING_PERMISSION", "JOB_RECURRING_ALREADY_EXISTS"],
    async run({ platform, caller, body, call }) {
      requireKnownArgs(platform, call, body);
      const job = await createRecurringJob(platform, caller, body);
      return created(job, `/api/v1/recurring-jobs/${encodeURIComponent(job.jobId)}`);
    },
  }),
  endpoint("PUT /api/v1/recurring-jobs/{id}", {
    ...ofOne,
    id: "updateRecurringJob",
    summary: "Change a recurring job's schedule, queue or arguments",
    body: UpdateRecurringJobRequest,
    answers: theVersionedJob,
    problems: ["JOB_RECURRING_NOT_FOUND", "PRECONDITION_FAILED", "MISSING_PERMISSION"],
    async run({ platform, db, caller, params, query, body, call }) {
      const name = { ...params, ...query };
      const { serializedArgs } = body;
      if (serializedArgs !== undefined) {
        const { value: { jobTypeName } } = await readRecurringJob(db, caller, name);
        requireKnownArgs(platform, call, { jobTypeName, serializedArgs });
      }
      const change = definedMembers(body);
      return versionedAnswer(await updateRecurringJob(platform, caller, name, change, call.ifMatch));
    },
  }),
  endpoint("DELETE /api/v1/recurring-jobs/{id}", {
    ...ofOne,
    id: "deleteRecurringJob",
    summary: "Delete a recurring job; its jobs stay",
    answers: { 204: { description: "Deleted" } },
    problems: ["JOB_RECURRING_NOT_FOUND", "PRECONDITION_FAILED"],
    run: ({ db, caller, params, query, call }) =>
      noContentAfter(deleteRecurringJob(db, caller, { ...params, ...query }, call.ifMatch)),
  }),
  endpoint("POST /api/v1/recurring-jobs/{id}/pause", {
    ...ofOne,
    id: "pauseRecurringJob",
    summary: "Pause a recurring job",
    answers: theRecurringJob,
    problems: ["JOB_RECURRING_NOT_FOUND", "JOB_RECURRING_ALREADY_PAUSED"],
    run: async ({ platform, caller, params, query }) =>
      ok(await setRecurringPause(platform, caller, { ...params, ...query }, true)),
  }),
  endpoint("POST /api/v1/recurring-jobs/{id}/resume", {
    ...ofOne,
    id: "resumeRecurringJob",
    summary: "Resume a paused recurring job",
    answers: theRecurringJob,
    problems: ["JOB_RECURRING_NOT_FOUND", "JOB_RECURRING_NOT_PAUSED"],
    run: async ({ platform, caller, params, query }) =>
      ok(await setRecurringPause(platform, caller, { ...params, ...query }, false)),
  }),
  endpoint("POST /api/v1/recurring-jobs/{id}/trigger", {
    ...ofOne,
    id: "triggerRecurringJob",
    summary: "Run a recurring job at once, outside its schedule",
    creates: "atomically",
    answers: {
      200: { description: "The enqueued job, or the job that holds its key", schema: JobSummary },
    },
    problems: ["JOB_RECURRING_NOT_FOUND"],
    async run({ platform, caller, params, query }) {
      const { job, isDuplicate } = await triggerRecurringJob(platform, caller, { ...params, ...query });
      return ok(job, isDuplicate ? DUPLICATE : {});
    },
  }),
] as const;
