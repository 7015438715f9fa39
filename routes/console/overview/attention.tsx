import { UNDELIVERED } from "../../../domain/reports/status.ts";
import { Icon } from "../components/icons.tsx";
import { Card, type Tone } from "../components/notice.tsx";
import { ScopeChip } from "../components/scope.tsx";
import { searchOf } from "../shared/api.ts";
import { localOf } from "../components/date_inputs.ts";
import type { Visit } from "../shared/page.ts";
import type { Overview } from "./cards.tsx";
import { allJobs } from "./links.ts";
import { attentionTexts, overviewTexts } from "./texts.ts";

type Attention = Overview["attention"][number];

const TONES: Record<Attention["level"], Tone> = { Critical: "bad", Warning: "warn", Notice: "info" };

/** Problems that need attention, with links to the pages where they can be solved. */
export function AttentionCard({ v, overview }: { v: Visit; overview: Overview }) {
  const t = overviewTexts[v.locale];
  const { attention, since } = overview;
  if (attention.length === 0) {
    return (
      <p class="notice tone-ok">
        <Icon name="check" />
        <span>
          <strong>{t.allWell}.</strong> {t.allWellText}
        </span>
      </p>
    );
  }
  return (
    <Card title={t.attention} scope={<ScopeChip v={v} of="jobs" />}>
      <ul class="attention">
        {attention.map((item) => {
          const href = pageFor(item, v, since);
          const text = describe(v, item);
          return (
            <li class={`tone-${TONES[item.level]}`}>
              <Icon name={item.level === "Notice" ? "info" : "alert"} />
              <span>
                {href ? <a href={href}>{text}</a> : text}
                {item.reason && ` ${item.reason}`}
              </span>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

function describe(v: Visit, { kind, count, subject }: Attention): string {
  const text = attentionTexts[v.locale][kind] as (count: number, subject: string) => string;
  return text(count ?? 0, subject ?? "");
}

/** Addresses of the pages where problems are solved. `from` begins the time in which messages and reports are counted. */
const PAGES: Record<Attention["kind"], (o: { subject: string; since: string; from: string }) => string> = {
  QueueStuck: ({ subject }) => allJobs({ status: "Enqueued", queue: subject }),
  QueuePaused: ({ subject }) => allJobs({ queue: subject }),
  TypePaused: ({ subject }) => `job-types/${encodeURIComponent(subject)}`,
  MaintenanceLate: ({ subject }) => `job-types/${encodeURIComponent(subject)}`,
  JobsRetrying: () => allJobs({ status: "Failed" }),
  WebhooksFailing: () => "webhooks?isFailing=true",
  SuppressionsRising: ({ since }) => `suppressions${searchOf({ from: since })}`,
  DeadLetters: () => "dead-letters",
  NotificationsDeadLettered: ({ from }) => `notifications${searchOf({ status: "DeadLettered", from })}`,
  NotificationsFailed: ({ from }) => `notifications${searchOf({ status: "Failed", from })}`,
  ReportsFailed: ({ from }) => `report-runs${searchOf({ status: 4, from })}`,
  ReportsUndelivered: ({ from }) => `report-runs${searchOf({ deliveryStatus: UNDELIVERED.join(), from })}`,
  ScannerUnavailable: () => "files/scanner",
  ScannerStale: () => "files/scanner",
  TenantsAtCapacity: () => "tenants",
  RecurringPaused: () => "recurring",
  SchedulesPaused: () => "report-schedules",
  NoWorkers: () => "workers",
};

/** Pages of these problems open only for those who see all tenants. */
const FOR_ALL_TENANTS: readonly Attention["kind"][] = ["TenantsAtCapacity", "NoWorkers"];

/** The page where the problem can be solved; null if there is none that the viewer may open. */
function pageFor({ kind, subject }: Attention, v: Visit, since: string): string | null {
  const { permissions } = v.viewer;
  const seesAll = permissions.has("admin:system") || permissions.has("manage:all-tenants");
  if (FOR_ALL_TENANTS.includes(kind) && !seesAll) return null;
  return PAGES[kind]({ subject: subject ?? "", since, from: localOf(v, since) });
}
