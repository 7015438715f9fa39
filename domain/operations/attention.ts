import type { Overview } from "./overview.ts";

const STUCK_AFTER_MS = 5 * 60_000;

export const ATTENTION_KINDS = [
  "NoWorkers",
  "ScannerUnavailable",
  "QueueStuck",
  "DeadLetters",
  "NotificationsDeadLettered",
  "NotificationsFailed",
  "ReportsFailed",
  "ScannerStale",
  "TenantsAtCapacity",
  "RecurringPaused",
  "SchedulesPaused",
] as const;
export type AttentionKind = typeof ATTENTION_KINDS[number];

/** Something a person should look at. */
export interface Attention {
  kind: AttentionKind;
  /** Critical: work does not go on until someone acts. */
  level: "Critical" | "Warning" | "Notice";
  /** How many it is about; null where that says nothing. */
  count: number | null;
  /** What it is about, where the kind alone does not say: a queue's name. */
  subject: string | null;
}

/** What of an overview needs a person, the most pressing first. */
export function attentionOf(o: Omit<Overview, "attention">, now: Date): Attention[] {
  const found: Attention[] = [];
  const add = (
    kind: AttentionKind,
    level: Attention["level"],
    count: number | null,
    subject: string | null = null,
  ) => {
    if (count !== 0) found.push({ kind, level, count, subject });
  };
  if (o.workers?.length === 0) add("NoWorkers", "Critical", null);
  if (o.scanner && !o.scanner.isAvailable) add("ScannerUnavailable", "Critical", null);
  for (const { queue, waiting, oldestDueAt } of o.queues) {
    const isStuck = oldestDueAt && now.getTime() - oldestDueAt.getTime() > STUCK_AFTER_MS;
    if (isStuck) add("QueueStuck", "Critical", waiting, queue);
  }
  add("DeadLetters", "Warning", o.openDeadLetters);
  if (o.notifications) {
    const { failedNotifications, deadLetteredNotifications } = o.notifications;
    add("NotificationsDeadLettered", "Warning", deadLetteredNotifications);
    add("NotificationsFailed", "Warning", failedNotifications);
  }
  add("ReportsFailed", "Warning", o.reports.failed);
  if (o.scanner?.databaseStale) add("ScannerStale", "Warning", null);
  add("TenantsAtCapacity", "Notice", o.tenants?.tenantsAtCapacity ?? 0);
  add("RecurringPaused", "Notice", o.recurring.paused);
  add("SchedulesPaused", "Notice", o.reports.pausedSchedules);
  return found;
}
