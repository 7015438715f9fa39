import { UNDELIVERED } from "../../../domain/reports/delivery/delivery_status.ts";
import { Icon } from "../components/icons.tsx";
import { Card, type Tone } from "../components/notice.tsx";
import { ScopeChip } from "../components/scope.tsx";
import { searchOf } from "../shared/api.ts";
import { localOf } from "../components/date_inputs.ts";
import type { Visit } from "../shared/page.ts";
import type { Overview } from "./parts.tsx";
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

/**
 * The page where the problem can be solved; null if there is none that the viewer may open.
 * @param since messages and reports are counted from this time on
 */
function pageFor({ kind, subject }: Attention, v: Visit, since: string): string | null {
  const { permissions } = v.viewer;
  const from = localOf(v, since);
  const platform = permissions.has("admin:system") || permissions.has("manage:all-tenants");
  switch (kind) {
    case "QueueStuck":
      return allJobs({ status: "Enqueued", queue: subject });
    case "QueuePaused":
      return allJobs({ queue: subject });
    case "TypePaused":
      return `job-types/${encodeURIComponent(subject ?? "")}`;
    case "MaintenanceLate":
      return `job-types/${encodeURIComponent(subject ?? "")}`;
    case "JobsRetrying":
      return allJobs({ status: "Failed" });
    case "WebhooksFailing":
      return "webhooks?isFailing=true";
    case "SuppressionsRising":
      return `suppressions${searchOf({ from: since })}`;
    case "DeadLetters":
      return "dead-letters";
    case "NotificationsDeadLettered":
      return `notifications${searchOf({ status: "DeadLettered", from })}`;
    case "NotificationsFailed":
      return `notifications${searchOf({ status: "Failed", from })}`;
    case "ReportsFailed":
      return `report-runs${searchOf({ status: 4, from })}`;
    case "ReportsUndelivered":
      return `report-runs${searchOf({ deliveryStatus: UNDELIVERED.join(), from })}`;
    case "ScannerUnavailable":
    case "ScannerStale":
      return "files/scanner";
    case "TenantsAtCapacity":
      return platform ? "tenants" : null;
    case "RecurringPaused":
      return "recurring";
    case "SchedulesPaused":
      return "report-schedules";
    case "NoWorkers":
      return platform ? "workers" : null;
  }
}
