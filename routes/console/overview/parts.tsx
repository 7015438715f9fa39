import { Meter } from "../components/charts.tsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { DataTable } from "../components/table.tsx";
import { Badge, Facts, Figure, number, shortId, Time } from "../components/values.tsx";
import { RunStatusBadge } from "../reports/model.tsx";
import { searchOf } from "../shared/api.ts";
import { inLanguage } from "../shared/own_words.ts";
import type { Visit } from "../shared/page.ts";
import { FORMAT_TAGS } from "../shared/words.ts";
import type { Overview } from "./overview.tsx";
import { words } from "./words.ts";

/** How deep the queues are, and since when their oldest jobs wait. */
export function Queues({ v, overview }: { v: Visit; overview: Overview }) {
  const w = words[v.locale];
  return (
    <Card title={w.queues}>
      <DataTable
        caption={w.queuesCaption}
        rows={overview.queues}
        empty={<Empty icon="jobs" title={w.noQueues} />}
        columns={[
          { head: w.queue, cell: ({ queue }) => <a href={`jobs${searchOf({ queue })}`}>{queue}</a> },
          { head: w.waiting, align: "end", cell: ({ waiting }) => number(v, waiting) },
          { head: w.processing, align: "end", cell: ({ processing }) => number(v, processing) },
          {
            head: w.oldest,
            cell: ({ oldestDueAt }) => oldestDueAt && <Time v={v} at={oldestDueAt} />,
          },
        ]}
      />
    </Card>
  );
}

/** What became of the messages of the last day. */
export function Deliveries({ v, stats }: { v: Visit; stats: NonNullable<Overview["notifications"]> }) {
  const w = words[v.locale];
  const sent = stats.sentNotifications;
  const { failedNotifications, deadLetteredNotifications } = stats;
  const failed = failedNotifications + deadLetteredNotifications;
  const underWay = stats.totalNotifications - sent - failed;
  const ended = sent + failed;
  const share = new Intl.NumberFormat(FORMAT_TAGS[v.locale], { style: "percent", maximumFractionDigits: 1 })
    .format(ended === 0 ? 0 : sent / ended);
  return (
    <Card title={w.deliveries}>
      {stats.totalNotifications === 0 ? <Empty icon="notifications" title={w.noMessages} /> : (
        <>
          <div class="figures">
            <Figure label={w.sent} value={number(v, sent)} href="notifications?status=Sent" />
            <Figure
              label={w.failedMessages}
              value={number(v, failedNotifications)}
              href="notifications?status=Failed"
              {...failedNotifications > 0 ? { tone: "warn" as const } : {}}
            />
            <Figure
              label={w.givenUp}
              value={number(v, deadLetteredNotifications)}
              href="notifications?status=DeadLettered"
              {...deadLetteredNotifications > 0 ? { tone: "bad" as const } : {}}
            />
            <Figure label={w.underWay} value={number(v, underWay)} />
          </div>
          {ended > 0 && (
            <div>
              <Meter
                label={w.deliveredShare(share)}
                value={sent}
                max={ended}
                tone={failed > 0 ? "warn" : "ok"}
              />
              <span class="muted">{w.deliveredShare(share)}</span>
            </div>
          )}
        </>
      )}
    </Card>
  );
}

/** Which engine examines files, how old its knowledge is, and how many files wait for it. */
export function ScannerCard({ v, scanner }: { v: Visit; scanner: NonNullable<Overview["scanner"]> }) {
  const w = words[v.locale];
  if (!scanner.isAvailable) {
    return (
      <Card title={w.scanner}>
        <Notice tone="bad" title={w.scannerAway}>{w.scannerAwayText}</Notice>
      </Card>
    );
  }
  const age = scanner.databaseAgeHours === null || scanner.databaseAgeHours === undefined
    ? w.ageUnknown
    : w.hoursOld(number(v, scanner.databaseAgeHours));
  return (
    <Card
      title={w.scanner}
      actions={
        <Badge tone={scanner.databaseStale ? "warn" : "ok"}>
          {scanner.databaseStale ? w.stale : w.fresh}
        </Badge>
      }
    >
      <Facts
        facts={[
          [w.engine, <a href="files/scanner">{scanner.engine}</a>],
          [w.database, `${scanner.databaseVersion ?? ""} ${age}`],
          [w.filesWaiting, number(v, scanner.queueDepth ?? 0)],
        ]}
      />
    </Card>
  );
}

/** The reports made last, of those the viewer may see. */
export function ReportRuns({ v, overview }: { v: Visit; overview: Overview }) {
  const w = words[v.locale];
  return (
    <Card title={w.reports}>
      <DataTable
        caption={w.reportsCaption}
        rows={overview.reports.latest}
        empty={<Empty icon="reports" title={w.noReports} />}
        columns={[
          {
            head: w.report,
            cell: ({ id, reportName }) => <a href={`report-runs/${id}`}>{inLanguage(v.locale, reportName)}
            </a>,
          },
          {
            head: w.status,
            cell: ({ status }) => <RunStatusBadge locale={v.locale} status={status} />,
          },
          { head: w.created, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
        ]}
      />
    </Card>
  );
}

/** Who works on jobs. */
export function Instances({ v, workers }: { v: Visit; workers: NonNullable<Overview["workers"]> }) {
  const w = words[v.locale];
  return (
    <Card title={w.instances}>
      <DataTable
        caption={w.instancesCaption}
        rows={workers}
        empty={<Empty icon="alert" title={w.noInstances} />}
        columns={[
          {
            head: w.host,
            cell: ({ host, id }) => (
              <>
                {host} <code class="muted" title={id}>{shortId(id)}</code>
              </>
            ),
          },
          { head: w.holds, align: "end", cell: ({ holds }) => number(v, holds) },
          { head: w.since, cell: ({ startedAt }) => <Time v={v} at={startedAt} /> },
          { head: w.heartbeat, cell: ({ heartbeatAt }) => <Time v={v} at={heartbeatAt} /> },
        ]}
      />
    </Card>
  );
}
