import { Meter } from "../components/charts.tsx";
import { localOf } from "../components/date_inputs.ts";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { statisticList } from "../components/statistics.tsx";
import { tableCard } from "../components/table.tsx";
import { Badge, factList, number, percent, shortId, Time } from "../components/values.tsx";
import { PauseButton } from "../jobs/pauses.tsx";
import { runState, runStates, runTitle } from "../reports/model.tsx";
import { searchOf } from "../shared/api.ts";
import type { Answer, Row } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import { inTenantOf } from "../shared/scope.ts";
import { overviewTexts } from "./texts.ts";

export type Overview = Answer<"readOverview">;

/** The waiting and running jobs of each queue, and the time at which the oldest one was due. */
export function Queues({ v, overview }: { v: Visit; overview: Overview }) {
  const t = overviewTexts[v.locale];
  const jobs = (queue: string, status: string, count: number) =>
    count === 0 ? "0" : <a href={allJobs({ queue, status })}>{number(v, count)}</a>;
  return tableCard(t.queues, overview.queues, <Empty icon="jobs" title={t.noQueues} />, [
    { head: t.queue, cell: ({ queue }) => <a href={allJobs({ queue })}>{queue}</a> },
    { head: t.waiting, align: "end", cell: ({ queue, waiting }) => jobs(queue, "Enqueued", waiting) },
    {
      head: t.processing,
      align: "end",
      cell: ({ queue, processing }) => jobs(queue, "Processing", processing),
    },
    { head: t.retrying, align: "end", cell: ({ queue, retrying }) => jobs(queue, "Failed", retrying) },
    { head: t.oldest, cell: ({ oldestDueAt }) => oldestDueAt && <Time v={v} at={oldestDueAt} /> },
    { head: t.state, cell: ({ queue, pause }) => <QueueState v={v} queue={queue} pause={pause} /> },
  ], { caption: t.queuesCaption });
}

/** The state of a queue: if it is paused the reason, and the button to pause or resume it. */
function QueueState({ v, queue, pause }: { v: Visit } & Pick<Overview["queues"][number], "queue" | "pause">) {
  const t = overviewTexts[v.locale];
  return (
    <>
      {pause && [
        <Badge tone="warn">{pause.scope === "all" ? t.pausedForAll : t.paused}</Badge>,
        ` ${pause.reason ?? ""}`,
      ]}
      <PauseButton v={v} kind="queue" name={queue} pause={pause} />
    </>
  );
}

/** The tenants with the most failing webhooks, undelivered messages and failed reports. Each leads to its list there. */
export function WorstTenants({ v, overview: { worst, since } }: { v: Visit; overview: Overview }) {
  const t = overviewTexts[v.locale];
  if (!worst) return null;
  const from = localOf(v, since);
  const kinds = [
    [t.failingWebhooks, worst.webhooks, "webhooks?isFailing=true"],
    [t.undelivered, worst.messages, `notifications${searchOf({ status: "DeadLettered", from })}`],
    [t.failedReports, worst.reports, `report-runs${searchOf({ from })}`],
  ] as const;
  const rows = kinds.filter(([, tenants]) => tenants.length > 0);
  if (rows.length === 0) return null;
  return (
    <Card title={t.worst}>
      {factList(rows.map(([label, tenants, back]) => [
        label,
        <ol class="bare-list">
          {tenants.map(({ tenantId, name, count }) => (
            <li class="row between">
              <a href={`work-in/${tenantId}${searchOf({ back })}`}>{name}</a> {number(v, count)}
            </li>
          ))}
        </ol>,
      ]))}
    </Card>
  );
}

/** Messages of the last 24 hours by delivery status. */
export function Deliveries({ v, stats, since }: {
  v: Visit;
  stats: NonNullable<Overview["notifications"]>;
  since: string;
}) {
  const t = overviewTexts[v.locale];
  const messages = (status: string | null) => ({
    href: `notifications${searchOf({ status, from: localOf(v, since) })}`,
  });
  const sent = stats.sentNotifications;
  const { failedNotifications, deadLetteredNotifications } = stats;
  const failed = failedNotifications + deadLetteredNotifications;
  const ended = sent + failed;
  const share = percent(v, ended === 0 ? 0 : sent / ended);
  return (
    <Card title={t.deliveries}>
      {stats.totalNotifications === 0 ? <Empty icon="notifications" title={t.noMessages} /> : [
        statisticList(v, [
          [t.allMessages, stats.totalNotifications, messages(null)],
          [t.sent, sent, messages("Sent")],
          [t.failedMessages, failedNotifications, {
            ...messages("Failed"),
            ...failedNotifications > 0 ? { tone: "warn" } : {},
          }],
          [t.deadLettered, deadLetteredNotifications, {
            ...messages("DeadLettered"),
            ...deadLetteredNotifications > 0 ? { tone: "bad" } : {},
          }],
        ]),
        ended > 0 && (
          <div>
            <Meter
              label={t.deliveredShare(share)}
              value={sent}
              max={ended}
              tone={failed > 0 ? "warn" : "ok"}
            />
            <span class="muted">{t.deliveredShare(share)}</span>
          </div>
        ),
      ]}
    </Card>
  );
}

/** The scan engine, the age of its signatures, and the number of files waiting for a scan. */
export function ScannerCard({ v, scanner }: { v: Visit; scanner: NonNullable<Overview["scanner"]> }) {
  const t = overviewTexts[v.locale];
  if (!scanner.isAvailable) {
    return (
      <Card title={t.scanner}>
        <Notice tone="bad" title={t.scannerUnavailable}>{t.scannerUnavailableText}</Notice>
      </Card>
    );
  }
  const age = scanner.databaseAgeHours === null || scanner.databaseAgeHours === undefined
    ? t.ageUnknown
    : t.hoursOld(number(v, scanner.databaseAgeHours));
  return (
    <Card
      title={t.scanner}
      actions={
        <Badge tone={scanner.databaseStale ? "warn" : "ok"}>
          {scanner.databaseStale ? t.stale : t.fresh}
        </Badge>
      }
    >
      {factList([
        [t.engine, <a href="files/scanner">{scanner.engine}</a>],
        [t.database, `${scanner.databaseVersion ?? ""} ${age}`],
        [t.filesWaiting, number(v, scanner.queueDepth ?? 0)],
      ])}
    </Card>
  );
}

/** The latest report runs that the viewer may see. */
export function ReportRuns(
  { v, runs, schedules }: { v: Visit; runs: Row<"listReportExecutions">[]; schedules: Map<string, string> },
) {
  const t = overviewTexts[v.locale];
  return tableCard(t.reports, runs, <Empty icon="reports" title={t.noReports} />, [
    {
      head: t.report,
      cell: ({ id, reportName, tenantId }) => (
        <a href={inTenantOf(v, tenantId, `report-runs/${id}`)}>
          {runTitle(v, reportName, schedules.get(id))}
        </a>
      ),
    },
    { head: t.status, cell: (run) => runStates.badge(v, runState(run)) },
    { head: t.created, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
  ], { caption: t.reportsCaption });
}

/** Instances that run jobs. */
export function Instances({ v, workers }: { v: Visit; workers: NonNullable<Overview["workers"]> }) {
  const t = overviewTexts[v.locale];
  return tableCard(t.instances, workers, <Empty icon="alert" title={t.noInstances} />, [
    {
      head: t.host,
      cell: ({ host, id }) => (
        <>
          {host} <code class="muted" title={id}>{shortId(id)}</code>
        </>
      ),
    },
    { head: t.claimed, align: "end", cell: ({ holds }) => number(v, holds) },
    { head: t.since, cell: ({ startedAt }) => <Time v={v} at={startedAt} /> },
    { head: t.heartbeat, cell: ({ heartbeatAt }) => <Time v={v} at={heartbeatAt} /> },
  ], { caption: t.instancesCaption, actions: <a href="workers">{t.allWorkers}</a> });
}

/** The list of jobs with filters, the service's own jobs included, because the overview counts them too. */
export const allJobs = (filters: Record<string, string | null>): string =>
  `jobs${searchOf({ internal: "shown", ...filters })}`;
