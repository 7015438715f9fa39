import { z } from "zod";
import { inTenantOrService } from "../../domain/rights/checks.ts";
import { Throughput, THROUGHPUT_WINDOWS } from "../../domain/jobs/throughput.ts";
import { ATTENTION_KINDS } from "../../domain/operations/attention.ts";
import { DELIVERY_STATUSES } from "../../domain/reports/delivery/delivery_status.ts";
import { TenantsSummary } from "../../domain/access/tenants/tenants.ts";
import { readOverview } from "../../domain/operations/overview.ts";
import { JobDashboardStats } from "../../domain/jobs/stats.ts";
import { Pause } from "../../domain/jobs/pauses.ts";
import { QueueDepth } from "../../domain/jobs/queues.ts";
import { LiveWorker } from "../../domain/jobs/lease.ts";
import { ScannerReport } from "../../domain/files/scanner_status.ts";
import { NotificationStatsDto } from "../notifications/shapes.ts";
import { ok } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { enumName, uuid } from "../shared/validation.ts";

const timestamp = z.iso.datetime();

const OverviewDto = z.object({
  jobs: JobDashboardStats,
  throughput: Throughput,
  queues: z.array(QueueDepth),
  openDeadLetters: z.int().meta({ description: "Dead letters that were neither retried nor purged" }),
  recurring: z.object({ total: z.int(), paused: z.int() }),
  pauses: z.array(Pause).meta({ description: "Queues and job types that are paused" }),
  failingWebhooks: z.int().nullable().meta({
    description:
      "Webhook endpoints that fail, or were deactivated for it; null without manage:webhooks or a tenant",
  }),
  since: timestamp.meta({
    description: "Start of the last 24 hours, to the minute, in which messages and reports are counted",
  }),
  workers: z.array(LiveWorker).nullable().meta({ description: "Null without admin:system" }),
  notifications: NotificationStatsDto.nullable().meta({
    description: "Messages of the last 24 hours; null without send:notifications",
  }),
  scanner: ScannerReport.partial().extend({ isAvailable: z.boolean() }).nullable().meta({
    description: "Null without read:files",
  }),
  reports: z.object({
    latest: z.array(z.object({
      id: z.guid(),
      reportName: z.string(),
      status: z.int(),
      deliveryStatus: z.enum(DELIVERY_STATUSES).nullable(),
      createdAt: timestamp,
      completedAt: timestamp.nullable(),
    })),
    failed: z.int().meta({ description: "In the last 24 hours" }),
    undelivered: z.int().meta({ description: "Documents of the last 24 hours that not all recipients got" }),
    since: timestamp.meta({ description: "Start of these 24 hours" }),
    pausedSchedules: z.int(),
  }),
  tenants: TenantsSummary.nullable().meta({
    description: "Null without read:tenants or without a tenant",
  }),
  attention: z.array(z.object({
    kind: z.enum(ATTENTION_KINDS),
    level: z.enum(["Critical", "Warning", "Notice"]),
    count: z.int().nullable(),
    subject: z.string().nullable(),
    reason: z.string().nullable().meta({ description: "The reason a person gave, such as that of a pause" }),
  })).meta({ description: "Problems that need attention, most urgent first" }),
}).meta({ id: "OverviewDto", description: "State of the service, as far as the caller may see it" });

/** The overview of the service. */
export const overviewRoutes = [
  endpoint({
    method: "get",
    path: "/api/v1/operations/overview",
    area: "Operations",
    id: "readOverview",
    summary: "Read jobs, queues, deliveries, scanner, reports and open problems in one answer",
    access: inTenantOrService(),
    query: z.object({
      tenantId: uuid.optional().meta({ description: "Filter of jobs for system administrators" }),
      window: enumName(THROUGHPUT_WINDOWS).default("hour"),
    }),
    answers: { 200: { description: "The overview; parts without permission are null", schema: OverviewDto } },
    problems: [],
    run: async ({ platform, caller, query }) => ok(await readOverview(platform, caller, query)),
  }),
] as const;
