import { z } from "zod";
import type { Pause } from "../jobs/limits/pauses.ts";

const STUCK_AFTER_MS = 5 * 60_000;
/** A maintenance job that is late by more than this needs attention. */
const LATE_AFTER_SECONDS = 15 * 60;

const ATTENTION_KINDS = [
  "NoWorkers",
  "ScannerUnavailable",
  "QueueStuck",
  "DeadLetters",
  "WebhooksFailing",
  "MaintenanceLate",
  "NotificationsDeadLettered",
  "NotificationsFailed",
  "ReportsFailed",
  "ReportsUndelivered",
  "ScannerStale",
  "SuppressionsRising",
  "QueuePaused",
  "TypePaused",
  "JobsRetrying",
  "TenantsAtCapacity",
  "RecurringPaused",
  "SchedulesPaused",
] as const;
export type AttentionKind = typeof ATTENTION_KINDS[number];

/** A condition that needs a person's attention. */
export const Attention = z.object({
  kind: z.enum(ATTENTION_KINDS),
  // Critical: work is blocked until someone acts.
  level: z.enum(["Critical", "Warning", "Notice"]),
  // Number of affected items; null if a number makes no sense.
  count: z.int().nullable(),
  // The name of the affected queue, job type or maintenance job; null if the kind has no subject.
  subject: z.string().nullable(),
  reason: z.string().nullable().meta({ description: "The reason a person gave, such as that of a pause" }),
});
export type Attention = z.output<typeof Attention>;

/** The members of an overview from which conditions that need attention follow. */
interface Facts {
  workers: unknown[] | null;
  queues: { queue: string; waiting: number; oldestDueAt: Date | null; pause: unknown }[];
  jobs: { failedJobs: number };
  pauses: Pick<Pause, "kind" | "name" | "reason">[];
  /** Null: the caller may not see them. */
  failingWebhooks: number | null;
  /** Seconds by which maintenance jobs are late; null: the caller may not see them. */
  maintenance: { name: string; seconds: number }[] | null;
  suppressionRise: number | null;
  openDeadLetters: number;
  recurring: { paused: number };
  notifications: { failedNotifications: number; deadLetteredNotifications: number } | null;
  scanner: { isAvailable: boolean; databaseStale?: boolean } | null;
  reports: { failed: number; undelivered: number; pausedSchedules: number };
  tenants: { tenantsAtCapacity: number } | null;
}

/** Lists the conditions of an overview that need attention, critical ones first. */
export function attentionOf(o: Facts, now: Date): Attention[] {
  const found: Attention[] = [];
  const add = (
    kind: AttentionKind,
    level: Attention["level"],
    count: number | null,
    subject: string | null = null,
    reason: string | null = null,
  ) => {
    if (count !== 0) found.push({ kind, level, count, subject, reason });
  };
  if (o.workers?.length === 0) add("NoWorkers", "Critical", null);
  if (o.scanner && !o.scanner.isAvailable) add("ScannerUnavailable", "Critical", null);
  for (const { queue, waiting, oldestDueAt, pause } of o.queues) {
    const isStuck = !pause && oldestDueAt && now.getTime() - oldestDueAt.getTime() > STUCK_AFTER_MS;
    if (isStuck) add("QueueStuck", "Critical", waiting, queue);
  }
  add("DeadLetters", "Warning", o.openDeadLetters);
  add("WebhooksFailing", "Warning", o.failingWebhooks ?? 0);
  for (const { name, seconds } of o.maintenance ?? []) {
    if (seconds > LATE_AFTER_SECONDS) add("MaintenanceLate", "Warning", Math.round(seconds / 60), name);
  }
  if (o.notifications) {
    const { failedNotifications, deadLetteredNotifications } = o.notifications;
    add("NotificationsDeadLettered", "Warning", deadLetteredNotifications);
    add("NotificationsFailed", "Warning", failedNotifications);
  }
  add("ReportsFailed", "Warning", o.reports.failed);
  add("ReportsUndelivered", "Warning", o.reports.undelivered);
  if (o.scanner?.databaseStale) add("ScannerStale", "Warning", null);
  add("SuppressionsRising", "Warning", o.suppressionRise ?? 0);
  for (const { kind, name, reason } of o.pauses) {
    add(kind === "queue" ? "QueuePaused" : "TypePaused", "Notice", null, name, reason);
  }
  add("JobsRetrying", "Notice", o.jobs.failedJobs);
  add("TenantsAtCapacity", "Notice", o.tenants?.tenantsAtCapacity ?? 0);
  add("RecurringPaused", "Notice", o.recurring.paused);
  add("SchedulesPaused", "Notice", o.reports.pausedSchedules);
  return found;
}
