import { DAY_MS, HOUR_MS } from "../../../infra/clock.ts";
import { AuditSentence } from "../components/audit_sentence.tsx";
import { AttemptBars } from "../components/charts.tsx";
import { localOf } from "../components/date_inputs.ts";
import { fragment } from "../shared/actions.ts";
import { Icon } from "../components/icons.tsx";
import { navCount, statisticList } from "../components/statistics.tsx";
import { Card, Empty, type Tone } from "../components/notice.tsx";
import { LivePart } from "../components/table.tsx";
import { tabBar } from "../components/tabs.tsx";
import { duration, Time } from "../components/values.tsx";
import { UNDELIVERED_RUNS } from "../reports/model.tsx";
import { orNull, type Page, Refusal, searchOf } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { typePath } from "../shared/job_paths.ts";
import type { Row } from "../shared/operations.ts";
import {
  type ConsoleSection,
  isOpen,
  may,
  mayInFiles,
  navItem,
  type Outcome,
  type Visit,
} from "../shared/page.ts";
import { actingApi, actsHere, addressInScope, everywhere } from "../shared/scope.ts";
import {
  allJobs,
  Deliveries,
  Instances,
  type Overview,
  Queues,
  ReportRuns,
  ScannerCard,
  WorstTenants,
} from "./cards.tsx";
import { FirstSteps } from "./checklist.tsx";
import { attentionTexts, overviewTexts } from "./texts.ts";

/** The overview of the service's state. */
export const overviewSection: ConsoleSection = {
  nav: [navItem(overviewTexts, "title", { path: "", icon: "overview" })],
  pages: [{ path: "", get: overviewPage }],
};

/** The state of the service, limited to what the viewer may see. Refreshes every five seconds. */
async function overviewPage(v: Visit): Promise<Outcome> {
  if (v.query.get("part") === "counts") return await waitingCounts(v);
  const t = overviewTexts[v.locale];
  const window = v.query.get("window") === "day" ? "day" : "hour";
  const own = Promise.all([readOverview(v, window), readChanges(v, window)]);
  const cards = v.cards.map((card) => card.render(v, own));
  const [overview, changes] = await own;
  if (!overview) {
    const { needsTenant, needsTenantText } = commonTexts[v.locale];
    return { title: t.title, body: <Empty icon="tenants" title={needsTenant}>{needsTenantText}</Empty> };
  }
  const runs = isOpen(v, "report-runs") ? await latestRuns(v) : [];
  const schedules = await v.readScheduleNames(runs.map(({ id }) => id));
  return {
    title: t.title,
    actions: tabBar(t.window, [
      { href: "./", label: t.hour, isCurrent: window === "hour" },
      { href: "./?window=day", label: t.day, isCurrent: window === "day" },
    ]),
    body: [
      <FirstSteps v={v} />,
      <LivePart v={v} id="overview" everySeconds={5}>
        <AttentionCard v={v} overview={overview} />
        {cards.length > 0 && <div class="grid-2">{await Promise.all(cards)}</div>}
        {isOpen(v, "jobs") && <JobStatistics v={v} overview={overview} />}
        {isOpen(v, "jobs") && <Queues v={v} overview={overview} />}
        <div class="columns">
          {isOpen(v, "jobs") && (
            <Card title={t.throughput}>
              <AttemptBars
                v={v}
                label={t.throughputLabel(window === "hour" ? t.hourName : t.dayName)}
                intervals={overview.throughput.intervals}
              />
            </Card>
          )}
          {changes && <ChangesCard v={v} changes={changes} window={window} />}
          {isOpen(v, "report-runs") && <ReportRuns v={v} runs={runs} schedules={schedules} />}
          {overview.notifications && (
            <Deliveries v={v} stats={overview.notifications} since={overview.since} />
          )}
          <WorstTenants v={v} overview={overview} />
          {overview.scanner && <ScannerCard v={v} scanner={overview.scanner} />}
          {overview.workers && !v.scope && <Instances v={v} workers={overview.workers} />}
        </div>
      </LivePart>,
    ],
  };
}

/** The latest report runs of the scope, with their tenants, which the overview of the API does not name. */
const latestRuns = async (v: Visit): Promise<Row<"listReportExecutions">[]> =>
  (await v.api.call("listReportExecutions", { query: { pageSize: 5, ...everywhere(v) } })).items;

/** Null if the viewer has no tenant and is not a system administrator: the page then asks to choose a tenant. */
async function readOverview(v: Visit, window: string): Promise<Overview | null> {
  try {
    return await (await actingApi(v)).call("readOverview", { query: { window } });
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
  return statisticList(v, [
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

type Attention = Overview["attention"][number];

const TONES: Record<Attention["level"], Tone> = { Critical: "bad", Warning: "warn", Notice: "info" };

/** Problems that need attention, with links to the pages where they can be solved. */
function AttentionCard({ v, overview }: { v: Visit; overview: Overview }) {
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
    <Card title={t.attention}>
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
  TypePaused: ({ subject }) => typePath(subject),
  MaintenanceLate: ({ subject }) => typePath(subject),
  JobsRetrying: () => allJobs({ status: "Failed" }),
  WebhooksFailing: () => "webhooks?isFailing=true",
  SuppressionsRising: ({ since }) => `suppressions${searchOf({ from: since })}`,
  DeadLetters: () => "dead-letters",
  NotificationsDeadLettered: ({ from }) => `notifications${searchOf({ status: "DeadLettered", from })}`,
  NotificationsFailed: ({ from }) => `notifications${searchOf({ status: "Failed", from })}`,
  ReportsFailed: ({ from }) => `report-runs${searchOf({ state: "Failed", from })}`,
  ReportsUndelivered: ({ from }) => `report-runs${searchOf({ state: UNDELIVERED_RUNS, from })}`,
  ScannerUnavailable: () => "files/scanner",
  ScannerStale: () => "files/scanner",
  TenantsAtCapacity: () => "tenants",
  RecurringPaused: () => "recurring",
  SchedulesPaused: () => "report-schedules",
  NoWorkers: () => "workers",
};

/** Pages of these problems open only for those who see all tenants. */
const FOR_ALL_TENANTS: readonly Attention["kind"][] = ["TenantsAtCapacity", "NoWorkers"];

/** Pages of these problems show one tenant. The card of the worst tenants leads to them from the whole service. */
const OF_A_TENANT: readonly Attention["kind"][] = ["WebhooksFailing", "SchedulesPaused"];

/** The page where the problem can be solved; null if there is none that the viewer may open. */
function pageFor({ kind, subject }: Attention, v: Visit, since: string): string | null {
  if (FOR_ALL_TENANTS.includes(kind) && !may(v.viewer, "manage:all-tenants")) return null;
  if (OF_A_TENANT.includes(kind) && !v.scope) return null;
  return PAGES[kind]({ subject: subject ?? "", since, from: localOf(v, since) });
}

/** Problems whose number is shown beside the navigation entry of their page: work that waits for a person. */
const COUNTED: readonly Attention["kind"][] = [
  "DeadLetters",
  "WebhooksFailing",
  "NotificationsDeadLettered",
  "NotificationsFailed",
  "ReportsFailed",
  "ReportsUndelivered",
  "JobsRetrying",
];

/** The work that waits on the page of a navigation entry; the first of several is the most urgent. */
type Waiting = Parameters<typeof navCount>[2] & { path: string };

/**
 * The counts beside navigation entries. The browser keeps them for some seconds, so that a walk through pages does not
 * read them again and again.
 */
async function waitingCounts(v: Visit): Promise<Response> {
  const [overview, infected] = await Promise.all([readOverview(v, "hour"), readInfected(v)]);
  const problems = (overview?.attention ?? []).flatMap((item): Waiting[] => {
    const { kind, count } = item;
    const href = overview && pageFor(item, v, overview.since);
    if (!COUNTED.includes(kind) || !count || !href) return [];
    const path = href.split("?")[0] ?? "";
    return [{ path, count, href: addressInScope(v, href), text: describe(v, item) }];
  });
  const waiting = [...problems, ...infected];
  const paths = v.nav.flatMap(({ items }) => items.map(({ path }) => path));
  const answer = await fragment(
    paths.map((path) => navCount(v, path, waiting.find((one) => one.path === path))),
  );
  answer.headers.set("cache-control", "private, max-age=15");
  answer.headers.set("vary", "cookie");
  return answer;
}

/** The files of the viewer's tenant that were found infected among those of the last 24 hours. */
async function readInfected(v: Visit): Promise<Waiting[]> {
  if (!v.scope || !actsHere(v) || !mayInFiles(v.viewer, "read:files")) return [];
  const since = sinceOf(v, "day");
  const query = { status: "Infected", fromDate: since, pageSize: 1 };
  const { totalCount: count } = await v.api.call("listFiles", { query });
  if (count === 0) return [];
  const href = `files${searchOf({ status: "Infected", from: localOf(v, since) })}`;
  return [{ path: "files", count, href, text: attentionTexts[v.locale].FilesInfected(count) }];
}

const SHOWN = 8;
const WINDOW_MS = { hour: HOUR_MS, day: DAY_MS };
type Window = keyof typeof WINDOW_MS;

interface RecentChanges {
  page: Page<Row<"readAuditLog">>;
  /** Changes are counted from this time on. */
  since: string;
}

/** The start of a window, to the minute, as a link can say it. */
function sinceOf(v: Visit, window: Window): string {
  const start = v.now.getTime() - WINDOW_MS[window];
  return new Date(start - start % 60_000).toISOString();
}

/** The latest changes of the window; null if the viewer may not read the audit log. */
async function readChanges(v: Visit, window: Window): Promise<RecentChanges | null> {
  if (!may(v.viewer, "read:users")) return null;
  const since = sinceOf(v, window);
  const page = await orNull(v.api.call("readAuditLog", { query: { fromDate: since, pageSize: SHOWN } }));
  return page && { page, since };
}

/** The changes of the last hour or day, with their actors. */
function ChangesCard({ v, changes, window }: { v: Visit; changes: RecentChanges; window: Window }) {
  const t = overviewTexts[v.locale];
  const { page: { items, totalCount }, since } = changes;
  const all = `audit${searchOf({ from: localOf(v, since) })}`;
  return (
    <Card
      title={window === "hour" ? t.changesOfHour : t.changesOfDay}
      actions={totalCount > 0 && <a href={all}>{t.allChanges(totalCount)}</a>}
    >
      {items.length === 0
        ? <Empty icon="audit" title={t.noChanges} />
        : (
          <ul class="changes" aria-label={window === "hour" ? t.changesOfHour : t.changesOfDay}>
            {items.map((entry) => (
              <li>
                <AuditSentence v={v} entry={entry} />
                <span class="muted nowrap">
                  <Time v={v} at={entry.at} />
                </span>
              </li>
            ))}
          </ul>
        )}
    </Card>
  );
}
