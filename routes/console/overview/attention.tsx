import { UNDELIVERED } from "../../../domain/reports/delivery/delivery_status.ts";
import { Icon } from "../components/icons.tsx";
import { Card, type Tone } from "../components/notice.tsx";
import { searchOf } from "../shared/api.ts";
import type { Viewer, Visit } from "../shared/page.ts";
import type { Overview } from "./parts.tsx";
import { attentionTexts, overviewTexts } from "./texts.ts";

type Attention = Overview["attention"][number];

const TONES: Record<Attention["level"], Tone> = { Critical: "bad", Warning: "warn", Notice: "info" };

/** Problems that need attention, with links to the pages where they can be solved. */
export function AttentionCard({ v, overview }: { v: Visit; overview: Overview }) {
  const t = overviewTexts[v.locale];
  const { attention, reports: { since } } = overview;
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
    <Card title={t.attention}>
      <ul class="attention">
        {attention.map((item) => {
          const href = pageFor(item, v.viewer, since);
          const text = describe(v, item);
          return (
            <li class={`tone-${TONES[item.level]}`}>
              <Icon name={item.level === "Notice" ? "info" : "alert"} />
              {href ? <a href={href}>{text}</a> : <span>{text}</span>}
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
 * @param since reports are counted from this time on
 */
function pageFor({ kind, subject }: Attention, { permissions }: Viewer, since: string): string | null {
  const platform = permissions.has("admin:system") || permissions.has("manage:all-tenants");
  switch (kind) {
    case "QueueStuck":
      return `jobs${searchOf({ status: "Enqueued", queue: subject })}`;
    case "DeadLetters":
      return "dead-letters";
    case "NotificationsDeadLettered":
      return "notifications?status=DeadLettered";
    case "NotificationsFailed":
      return "notifications?status=Failed";
    case "ReportsFailed":
      return `report-runs${searchOf({ status: 4, fromDate: since })}`;
    case "ReportsUndelivered":
      return `report-runs${searchOf({ deliveryStatus: UNDELIVERED.join(), fromDate: since })}`;
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
      return null;
  }
}
