import { z } from "zod";
import { jobReach } from "../../domain/jobs/reach.ts";
import { THROUGHPUT_WINDOWS } from "../../domain/jobs/statistics/throughput.ts";
import { DataHealth, readDataHealth } from "../../domain/operations/data_health.ts";
import {
  compareMark,
  createMark,
  DeployMark,
  listMarks,
  MarkComparison,
} from "../../domain/operations/deploy_marks.ts";
import { Overview, readOverview } from "../../domain/operations/overview.ts";
import { readTimeline, Timeline } from "../../domain/operations/timeline.ts";
import { readUpcoming, Upcoming } from "../../domain/operations/upcoming.ts";
import { listUsage, Usage, USAGE_SORTS } from "../../domain/operations/usage.ts";
import { acrossTenants, inTenantOrService } from "../../domain/rights/checks.ts";
import { enumName, instant, requiredText, uuid } from "../../domain/shared/shapes.ts";
import { furtherJobFilters } from "../jobs/shapes.ts";
import { created, ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { listQuery, pagedResultOf, pageQuery, queryInstant, queryInteger } from "../shared/validation.ts";

const endpoint = endpointsIn("Operations");

const { search: _, includeDeleted: __, ...listed } = listQuery(USAGE_SORTS);

const keys = {
  traceId: furtherJobFilters.traceId,
  tenantId: uuid.optional(),
  userId: uuid.optional(),
  jobId: uuid.optional(),
  fileId: uuid.optional(),
  messageId: uuid.optional(),
};
const NAMES = Object.keys(keys) as (keyof typeof keys)[];

const MARKS = "/api/v1/operations/marks";
const overService = acrossTenants("admin:system");

/** The overview of the service, what comes, marks of deploys, the timeline, and the use of tenants and of the database. */
export const overviewRoutes = [
  endpoint("GET /api/v1/operations/overview", {
    id: "readOverview",
    summary: "Read jobs, queues, deliveries, scanner, reports and open problems in one answer",
    access: inTenantOrService(),
    query: z.object({
      tenantId: uuid.optional().describe("Filter for system administrators"),
      window: enumName(THROUGHPUT_WINDOWS).default("hour"),
    }),
    answers: { 200: { description: "The overview; parts without permission are null", schema: Overview } },
    run: async ({ platform, caller, query }) => ok(await readOverview(platform, caller, query)),
  }),
  endpoint("GET /api/v1/operations/upcoming", {
    id: "readUpcoming",
    summary:
      "Read what will happen in the next hours: schedules, scheduled jobs and messages, purges, ends of keys",
    access: inTenantOrService(),
    query: z.object({
      tenantId: uuid.optional().describe("Filter of jobs for system administrators"),
      hours: queryInteger(1, 168).default(24),
    }),
    answers: { 200: { description: "What will happen, in order of time", schema: Upcoming } },
    run: async ({ platform, caller, query }) => ok(await readUpcoming(platform, caller, query)),
  }),
  endpoint(`POST ${MARKS}`, {
    id: "createDeployMark",
    summary: "Mark a time, such as that of a deploy",
    details: "The first instance that starts with a new version of the service makes a mark too.",
    access: overService,
    body: z.object({ label: requiredText(200), at: instant.optional() }),
    creates: "atomically",
    answers: { 201: { description: "The mark", schema: DeployMark } },
    run: async ({ platform, db, caller, body }) =>
      created(await createMark({ ...platform, sql: db }, caller, body), MARKS),
  }),
  endpoint(`GET ${MARKS}`, {
    id: "listDeployMarks",
    summary: "List the marks, newest first",
    access: overService,
    query: z.object(pageQuery()),
    answers: { 200: { description: "A page of marks", schema: pagedResultOf(DeployMark) } },
    run: async ({ db, query }) => ok(await listMarks(db, query)),
  }),
  endpoint(`GET ${MARKS}/{id}/comparison`, {
    id: "compareDeployMark",
    summary: "Compare failure rate, times and number of attempts of each job type before and after a mark",
    access: overService,
    params: z.object({ id: uuid }),
    query: z.object({
      tenantId: uuid.optional(),
      hours: queryInteger(1, 168).default(4).describe("Hours before and after the mark"),
    }),
    answers: { 200: { description: "The comparison", schema: MarkComparison } },
    problems: ["DEPLOY_MARK_NOT_FOUND"],
    run: async ({ platform, caller, params, query: { tenantId, hours } }) =>
      ok(await compareMark(platform, jobReach(caller, tenantId), { ...params, hours })),
  }),
  endpoint("GET /api/v1/operations/timeline", {
    id: "readTimeline",
    summary: "Read audit entries, jobs, messages, files, reports and webhook deliveries in order of time",
    details:
      "For one of the keys, or without a key for the tenant of the caller. Only system administrators choose " +
      "another tenant. A job, file or message has the things of its traces.",
    access: inTenantOrService(),
    query: z.object({
      ...keys,
      from: queryInstant.optional(),
      to: queryInstant.optional().describe("Inclusive"),
      before: uuid.optional().describe("`next` of the last page"),
      pageSize: queryInteger(1, 100).default(50),
    }).refine((query) => NAMES.filter((name) => query[name] !== undefined).length <= 1, {
      error: `expected at most one of ${NAMES.join(", ")}`,
    }),
    answers: { 200: { description: "A page of the timeline", schema: Timeline } },
    problems: ["JOB_NOT_FOUND", "FILE_NOT_FOUND", "NOTIFICATION_NOT_FOUND"],
    run: async ({ platform, caller, query }) => ok(await readTimeline(platform, caller, query)),
  }),
  endpoint("GET /api/v1/operations/usage", {
    id: "listUsage",
    summary:
      "List storage, mails, jobs and reports by tenant and month; without manage:all-tenants, of the own tenant",
    access: inTenantOrService("read:tenants"),
    query: z.object({
      ...listed,
      month: z.string().regex(/^20\d\d-(0[1-9]|1[0-2])$/, "expected a month such as 2026-11").optional(),
      tenantId: uuid.optional().describe("Filter for callers with manage:all-tenants"),
    }),
    answers: {
      200: { description: "A page", schema: pagedResultOf(Usage).meta({ id: "UsagePage" }) },
    },
    run: async ({ db, caller, query }) => ok(await listUsage(db, caller, query)),
  }),
  endpoint("GET /api/v1/operations/data-health", {
    id: "readDataHealth",
    summary:
      "Read the sizes and growth of tables, late maintenance, the oldest snapshot and limits of the database",
    access: overService,
    answers: { 200: { description: "The state of the database", schema: DataHealth } },
    run: async ({ platform }) => ok(await readDataHealth(platform)),
  }),
] as const;
