import { TimeBars } from "../components/charts.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { ScopeChip } from "../components/scope.tsx";
import { LivePart } from "../components/table.tsx";
import { statisticList } from "../components/statistics.tsx";
import { WindowTabs } from "../components/tabs.tsx";
import { duration } from "../components/values.tsx";
import { Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { View, Visit } from "../shared/page.ts";
import { AttentionCard } from "./attention.tsx";
import { FirstSteps } from "./checklist.tsx";
import { allJobs } from "./links.ts";
import { ChangesCard, readChanges } from "./changes.tsx";
import { Deliveries, Instances, type Overview, Queues, ReportRuns, ScannerCard } from "./cards.tsx";
import { overviewTexts } from "./texts.ts";

/** The state of the service, limited to what the viewer may see. Refreshes every five seconds. */
export async function overviewPage(v: Visit): Promise<View> {
  const t = overviewTexts[v.locale];
  const window = v.query.get("window") === "day" ? "day" : "hour";
  const [overview, changes] = await Promise.all([readOverview(v, window), readChanges(v, window)]);
  if (!overview) {
    const { needsTenant, needsTenantText } = commonTexts[v.locale];
    return { title: t.title, body: <Empty icon="tenants" title={needsTenant}>{needsTenantText}</Empty> };
  }
  return {
    title: t.title,
    actions: <WindowTabs v={v} path="./" window={window} />,
    body: (
      <>
        <FirstSteps v={v} />
        <LivePart v={v} id="overview" everySeconds={5}>
          <AttentionCard v={v} overview={overview} />
          <JobStatistics v={v} overview={overview} />
          <div class="grid-2">
            <ThroughputCard v={v} overview={overview} window={window} />
            {changes && <ChangesCard v={v} changes={changes} window={window} />}
            <ReportRuns v={v} overview={overview} />
            {overview.notifications && (
              <Deliveries v={v} stats={overview.notifications} since={overview.since} />
            )}
            {overview.scanner && <ScannerCard v={v} scanner={overview.scanner} />}
          </div>
          <Queues v={v} overview={overview} />
          {overview.workers && <Instances v={v} workers={overview.workers} />}
        </LivePart>
      </>
    ),
  };
}

/** Null if the viewer has no tenant and is not a system administrator: the page then asks to choose a tenant. */
async function readOverview(v: Visit, window: string): Promise<Overview | null> {
  try {
    return await v.api.call("readOverview", { query: { window } });
  } catch (refusal) {
    if (refusal instanceof Refusal && refusal.code === "FORBIDDEN") return null;
    throw refusal;
  }
}

function JobStatistics({ v, overview }: { v: Visit; overview: Overview }) {
  const t = overviewTexts[v.locale];
  const { jobs, openDeadLetters, recurring } = overview;
  const retrying = jobs.failedJobs > 0 ? { tone: "warn" as const } : {};
  const dead = openDeadLetters > 0 ? { tone: "bad" as const } : {};
  const paused = recurring.paused > 0 ? { hint: t.pausedOf(recurring.paused) } : {};
  return statisticList(v, "jobs", [
    [t.waiting, jobs.enqueuedJobs, { href: allJobs({ status: "Enqueued" }) }],
    [t.processing, jobs.processingJobs, { href: allJobs({ status: "Processing" }) }],
    [t.scheduled, jobs.scheduledJobs, { href: allJobs({ status: "Scheduled" }) }],
    [t.retrying, jobs.failedJobs, { href: allJobs({ status: "Failed" }), ...retrying }],
    [t.deadLetters, openDeadLetters, { href: "dead-letters/list?isRetried=false", ...dead }],
    [t.recurring, recurring.total, { href: "recurring", ...paused }],
    [t.jobsTotal, jobs.totalJobs, {
      href: allJobs({}),
      hint: t.average(duration(v, jobs.averageExecutionDurationMs)),
    }],
  ]);
}

function ThroughputCard({ v, overview, window }: { v: Visit; overview: Overview; window: "hour" | "day" }) {
  const t = overviewTexts[v.locale];
  const { intervals } = overview.throughput;
  const of = (part: "succeeded" | "failed" | "abandoned") => intervals.map((interval) => interval[part]);
  const abandoned = of("abandoned");
  return (
    <Card title={t.throughput} scope={<ScopeChip v={v} of="jobs" />}>
      <TimeBars
        v={v}
        label={t.throughputLabel(window === "hour" ? t.hourName : t.dayName)}
        starts={intervals.map(({ start }) => start)}
        series={[
          { label: t.succeeded, tone: "ok", values: of("succeeded") },
          { label: t.failed, tone: "bad", values: of("failed") },
          ...abandoned.some((n) => n > 0)
            ? [{ label: t.abandoned, tone: "warn" as const, values: abandoned }]
            : [],
        ]}
      />
    </Card>
  );
}
