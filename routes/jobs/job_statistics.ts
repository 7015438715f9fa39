import { z } from "zod";
import { acrossTenants, inTenantOrService } from "../../domain/rights/checks.ts";
import { countByStatus } from "../../domain/jobs/lists/job_list.ts";
import { countErrors } from "../../domain/jobs/lists/error_search.ts";
import { JOB_STATUSES, type JobStatus } from "../../domain/jobs/job_row.ts";
import { JobTypeStats, readJobTypeStats } from "../../domain/jobs/statistics/type_statistics.ts";
import { listPauses, Pause } from "../../domain/jobs/limits/pauses.ts";
import { describeJobTypes, ExposedJobType, QueueDepth, readQueues } from "../../domain/jobs/lists/queues.ts";
import { jobReach } from "../../domain/jobs/reach.ts";
import { JobDashboardStats, readJobStats } from "../../domain/jobs/statistics/stats.ts";
import { readThroughput, Throughput, THROUGHPUT_WINDOWS } from "../../domain/jobs/statistics/throughput.ts";
import { listWorkers, LiveWorker } from "../../domain/jobs/engine/lease.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { enumName } from "../../domain/shared/shapes.ts";
import { queryInstant } from "../shared/validation.ts";
import { BY_ARGUMENTS, filtersOf, searchedFromHeader } from "./filters.ts";
import { furtherJobFilters, jobFilters, ofTenant } from "./shapes.ts";

const endpoint = endpointsIn("Jobs");

const access = inTenantOrService();
const JobStatusCountsDto = z.object({
  statuses: z.array(z.object({ status: z.enum(JOB_STATUSES), count: z.int() })),
}).meta({ id: "JobStatusCountsDto", description: "Exact counts by status, without zero counts" });
const window = enumName(THROUGHPUT_WINDOWS).default("hour");

/** Statistics of all jobs. They must be registered before `/jobs/{id}`, which matches their paths too. */
export const jobStatisticsRoutes = [
  endpoint("GET /api/v1/jobs/dashboard/stats", {
    id: "readJobStats",
    summary: "Read the job counts of the dashboard",
    access,
    query: z.object(ofTenant),
    answers: { 200: { description: "Exact counts", schema: JobDashboardStats } },
    run: async ({ db, caller, query }) => ok(await readJobStats(db, jobReach(caller, query.tenantId))),
  }),
  endpoint("GET /api/v1/jobs/counts", {
    id: "countJobsByStatus",
    summary: "Count matching jobs by status",
    details: BY_ARGUMENTS,
    access,
    query: z.object({ ...jobFilters, ...furtherJobFilters }),
    answers: { 200: { description: "Exact counts", schema: JobStatusCountsDto } },
    async run({ platform, db, caller, call, query: { tenantId, ...query } }) {
      const reach = jobReach(caller, tenantId);
      const filters = await filtersOf(platform, tenantId ?? caller.tenantId, call.url, query);
      const found = await countErrors(db, reach, filters);
      const counts = found?.counts ?? await countByStatus(db, reach, filters);
      const statuses = counts.map(({ key, n }) => ({ status: key as JobStatus, count: n }));
      return ok({ statuses }, found ? searchedFromHeader(found) : {});
    },
  }),
  endpoint("GET /api/v1/jobs/throughput", {
    id: "readJobThroughput",
    summary: "Read how many attempts succeeded and failed per interval",
    access,
    query: z.object({ ...ofTenant, window }),
    answers: { 200: { description: "One entry per interval", schema: Throughput } },
    run: async ({ platform, db, caller, query }) =>
      ok(await readThroughput(db, jobReach(caller, query.tenantId), query.window, platform.clock.now())),
  }),
  endpoint("GET /api/v1/jobs/queues", {
    id: "listJobQueues",
    summary: "List the queues that are paused or have unfinished jobs, their counts and oldest due time",
    access,
    query: z.object(ofTenant),
    answers: { 200: { description: "The queues by name", schema: z.array(QueueDepth) } },
    run: async ({ platform, caller, query }) =>
      ok(await readQueues(platform, jobReach(caller, query.tenantId), caller.tenantId)),
  }),
  endpoint("GET /api/v1/jobs/pauses", {
    id: "listJobPauses",
    summary: "List the queues and job types that are paused, for the tenant or for all",
    access,
    answers: { 200: { description: "The pauses, queues first, by name", schema: z.array(Pause) } },
    run: async ({ db, caller }) => ok(await listPauses(db, caller.tenantId)),
  }),
  endpoint("GET /api/v1/jobs/types", {
    id: "listJobTypes",
    summary: "List the job types that callers can enqueue, with the JSON Schema of their arguments",
    access,
    answers: { 200: { description: "The types by name", schema: z.array(ExposedJobType) } },
    run: async ({ platform, caller }) => ok(await describeJobTypes(platform, caller.tenantId)),
  }),
  endpoint("GET /api/v1/jobs/types/{name}/stats", {
    id: "readJobTypeStats",
    summary:
      "Read the figures of a job type per interval: ended attempts, failure rate, waiting time and duration",
    access,
    params: z.object({ name: z.string().max(200) }),
    query: z.object({
      ...ofTenant,
      window,
      from: queryInstant.optional().describe(
        "Instead of `window`: start of the period, of which the last 15 days are kept",
      ),
      to: queryInstant.optional().describe("Its end; absent: now"),
    }),
    answers: { 200: { description: "The whole period and one entry per interval", schema: JobTypeStats } },
    problems: ["JOB_TYPE_UNKNOWN"],
    run: async ({ platform, caller, params, query }) =>
      ok(await readJobTypeStats(platform, jobReach(caller, query.tenantId), params.name, query)),
  }),
  endpoint("GET /api/v1/jobs/workers", {
    id: "listJobWorkers",
    summary: "List the workers with their last heartbeat",
    access: acrossTenants("admin:system"),
    answers: { 200: { description: "The live workers", schema: z.array(LiveWorker) } },
    run: async ({ db }) => ok(await listWorkers(db)),
  }),
] as const;
