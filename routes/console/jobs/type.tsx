import { JOB_STATUSES } from "../../../domain/jobs/job_row.ts";
import { AttemptBars, Sparkline } from "../components/charts.tsx";
import { periodOf, rangeLabels, RANGES } from "../components/date_inputs.ts";
import { buttonLink, FilterBar } from "../components/forms.tsx";
import { days } from "../components/list.tsx";
import { Card, Empty } from "../components/notice.tsx";
import { Statistic, statisticList, StatisticRow } from "../components/statistics.tsx";
import { type Column, dataTable, LivePart, tableCard } from "../components/table.tsx";
import { tabBar } from "../components/tabs.tsx";
import { Badge, duration, factList, number, percent, Time } from "../components/values.tsx";
import { searchOf } from "../shared/api.ts";
import { typePath } from "../shared/job_paths.ts";
import type { Answer, Row } from "../shared/operations.ts";
import type { View, Visit } from "../shared/page.ts";
import { jobStates } from "./list.tsx";
import { PauseBanner, PauseButton } from "./pauses.tsx";
import { jobTexts, typeTexts } from "./texts.ts";

/** The job types that the viewer can enqueue, with their limits and pauses. */
export async function typesPage(v: Visit): Promise<View> {
  const t = typeTexts[v.locale];
  const types = await v.api.call("listJobTypes");
  return {
    title: t.title,
    body: [
      <PauseBanner v={v} />,
      <Card>
        {dataTable(t.caption, types, <Empty icon="jobs" title={t.none}>{t.noneText}</Empty>, [
          { head: t.name, cell: ({ name }) => <a href={typePath(name)}>{name}</a> },
          {
            head: t.status,
            cell: ({ pause }) =>
              pause ? <Badge tone="warn">{t.paused}</Badge> : <Badge tone="ok">{t.running}</Badge>,
          },
          { head: t.timeout, align: "end", cell: ({ timeoutMs }) => duration(v, timeoutMs) },
          { head: t.retries, align: "end", cell: ({ maxRetries }) => number(v, maxRetries) },
          {
            head: t.atOnce,
            align: "end",
            cell: ({ concurrency }) => concurrency === null ? "–" : number(v, concurrency),
            wideOnly: true,
          },
          {
            head: t.limit,
            cell: ({ rateLimit }) => rateLimit ? t.limitOf(rateLimit.count, rateLimit.perSeconds) : "–",
            wideOnly: true,
          },
          { head: t.pause, cell: (type) => <PauseButton v={v} kind="type" {...type} /> },
        ])}
      </Card>,
    ],
  };
}

type Stats = Answer<"readJobTypeStats">;
type Type = Row<"listJobTypes">;

const ERRORS_SHOWN = 5;

/** A job type: how many attempts ended and how, how long they waited and ran, and the last errors. */
export async function typePage(v: Visit): Promise<View> {
  const t = typeTexts[v.locale];
  const name = v.params.name ?? "";
  const window = v.query.get("window") === "day" ? "day" : "hour";
  const { fromDate: from, toDate: to } = periodOf(v);
  const ofType = { jobTypeName: name };
  const isOfType = (pause: { kind: string; name: string }) => pause.kind === "type" && pause.name === name;
  const [stats, types, pauses, { statuses }, failed, dead] = await Promise.all([
    v.api.call("readJobTypeStats", { params: { name }, query: { window, from, to } }),
    v.api.call("listJobTypes"),
    v.api.call("listJobPauses"),
    v.api.call("countJobsByStatus", { query: ofType }),
    v.api.call("listJobs", { query: { ...ofType, status: "Failed", pageSize: ERRORS_SHOWN } }),
    v.api.call("listDeadLetters", { query: { ...ofType, isRetried: "false", pageSize: ERRORS_SHOWN } }),
  ]);
  const type = types.find((type) => type.name === name);
  const pause = pauses.find(isOfType) ?? null;
  return {
    title: name,
    actions: [
      buttonLink(jobsOf(name), t.jobsOfType, { icon: "jobs" }),
      <PauseButton v={v} kind="type" name={name} pause={pause} />,
      type &&
      buttonLink(`jobs/new${searchOf({ jobTypeName: name })}`, t.enqueue, { icon: "plus", tone: "primary" }),
    ],
    body: (
      <LivePart v={v} id="job-type" everySeconds={10}>
        <PauseBanner v={v} fits={isOfType} />
        <PeriodTabs v={v} path={typePath(name)} />
        <Totals v={v} total={stats.total} />
        <div class="grid-2">
          <Card title={t.attempts}>
            <AttemptBars v={v} label={t.attempts} intervals={stats.intervals} />
          </Card>
          <Times v={v} stats={stats} />
          <States v={v} name={name} statuses={statuses} type={type} />
          <LastErrors v={v} name={name} failed={failed.items} dead={dead.items} />
        </div>
      </LivePart>
    ),
  };
}

/** The period of the statistics: a named one, the last 24 hours, or days. */
function PeriodTabs({ v, path }: { v: Visit; path: string }) {
  const { window, day } = typeTexts[v.locale];
  const isDay = v.query.get("window") === "day";
  const isOther = isDay || periodOf(v).fromDate !== undefined;
  const tabs = RANGES.map((range) => ({
    href: path + searchOf({ range }),
    label: rangeLabels[v.locale][range],
    isCurrent: v.query.get("range") === range || range === "hour" && !isOther,
  }));
  const lastDay = { href: `${path}?window=day`, label: day, isCurrent: isDay };
  return (
    <div class="row">
      {tabBar(window, tabs.toSpliced(1, 0, lastDay))}
      <FilterBar v={v} action={path} target="job-type">
        {days(typeTexts[v.locale]).map((input) => input(v))}
      </FilterBar>
    </div>
  );
}

const jobsOf = (jobTypeName: string, status?: string): string => `jobs${searchOf({ jobTypeName, status })}`;

function Totals({ v, total }: { v: Visit; total: Stats["total"] }) {
  const t = typeTexts[v.locale];
  const rate = total.failureRate === null ? "–" : percent(v, total.failureRate);
  const { succeeded, failed, deadLettered, postponed, abandoned } = total;
  const tone = (count: number, tone: "warn" | "bad") => count > 0 ? { tone } : {};
  return (
    <StatisticRow>
      <Statistic label={t.succeeded} value={number(v, succeeded)} />
      <Statistic label={t.failed} value={number(v, failed)} {...tone(failed, "warn")} />
      <Statistic label={t.failureRate} value={rate} {...tone(failed, "warn")} />
      <Statistic label={t.deadLettered} value={number(v, deadLettered)} {...tone(deadLettered, "bad")} />
      {postponed > 0 && <Statistic label={t.postponed} value={number(v, postponed)} />}
      {abandoned > 0 && <Statistic label={t.abandoned} value={number(v, abandoned)} tone="warn" />}
    </StatisticRow>
  );
}

/** Waiting and running time in quantiles, and the course of the p95. */
function Times({ v, stats: { total, intervals } }: { v: Visit; stats: Stats }) {
  const t = typeTexts[v.locale];
  const rows = [[t.waited, total.waitMs] as const, [t.ran, total.durationMs] as const];
  const course = intervals.map(({ durationMs }) => durationMs?.p95 ?? null);
  const slowest = t.slowest(duration(v, Math.max(0, ...course.map((ms) => ms ?? 0))));
  const hasTimes = rows.some(([, of]) => of !== null);
  const quantile = (name: "p50" | "p95" | "p99"): Column<typeof rows[number]> => ({
    head: name,
    align: "end",
    cell: ([, of]) => duration(v, of?.[name]),
  });
  return (
    <Card title={t.times}>
      {dataTable(t.timesCaption, hasTimes ? rows : [], <Empty icon="jobs" title={t.noAttemptsYet} />, [
        { head: t.measure, cell: ([label]) => label },
        ...(["p50", "p95", "p99"] as const).map(quantile),
      ])}
      {hasTimes && [<Sparkline label={slowest} values={course} />, <span class="muted">{slowest}</span>]}
    </Card>
  );
}

/** The limits of the type, and its jobs by status. */
function States({ v, name, statuses, type }: {
  v: Visit;
  name: string;
  statuses: Answer<"countJobsByStatus">["statuses"];
  type: Type | undefined;
}) {
  const t = typeTexts[v.locale];
  const counts = new Map(statuses.map(({ status, count }) => [status, count]));
  const shown = JOB_STATUSES.filter((status) => counts.has(status));
  return (
    <Card title={t.state}>
      {shown.length === 0 ? <Empty icon="jobs" title={t.noJobs} /> : statisticList(
        v,
        shown.map((status) => [
          jobStates.labels[v.locale][status],
          counts.get(status) ?? 0,
          { href: jobsOf(name, status) },
        ]),
      )}
      {type && factList([
        [t.timeout, duration(v, type.timeoutMs)],
        [t.retries, number(v, type.maxRetries)],
        type.concurrency !== null && [t.atOnce, number(v, type.concurrency)],
        type.rateLimit && [t.limit, t.limitOf(type.rateLimit.count, type.rateLimit.perSeconds)],
      ])}
    </Card>
  );
}

/** The jobs that failed last: those that wait for a retry, and dead letters. */
function LastErrors({ v, name, failed, dead }: {
  v: Visit;
  name: string;
  failed: Row<"listJobs">[];
  dead: Row<"listDeadLetters">[];
}) {
  const t = typeTexts[v.locale];
  const errors = [
    ...failed.map(({ id, lastError: error, startedAt: at, nextRetryAt }) => ({ id, error, at, nextRetryAt })),
    ...dead.map(({ jobId, errorMessage, failedAt }) => ({
      id: jobId,
      error: errorMessage,
      at: failedAt,
      nextRetryAt: null,
    })),
  ].sort((a, b) => (b.at ?? "").localeCompare(a.at ?? "")).slice(0, ERRORS_SHOWN);
  return tableCard(t.lastErrors, errors, <Empty icon="check" title={t.noErrors} />, [
    {
      head: t.error,
      cell: ({ id, error }) => <a class="clamp" href={`jobs/${id}`}>{error ?? id}</a>,
    },
    {
      head: t.failed,
      cell: ({ at, nextRetryAt }) => [
        <Time v={v} at={at} />,
        nextRetryAt && (
          <span class="sub">
            {jobTexts[v.locale].nextRetry} <Time v={v} at={nextRetryAt} />
          </span>
        ),
      ],
    },
  ], {
    caption: t.lastErrorsCaption,
    actions: dead.length > 0 && (
      <a href={`dead-letters/list${searchOf({ jobTypeName: name, isRetried: false })}`}>{t.allErrors}</a>
    ),
  });
}
