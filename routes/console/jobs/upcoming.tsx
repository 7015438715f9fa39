import type { Child } from "hono/jsx";
import { Card, Empty, Notice } from "../components/notice.tsx";
import { dataTable, LivePart, tableCard } from "../components/table.tsx";
import { pageTabs } from "../components/tabs.tsx";
import { clockTime, number, Time } from "../components/values.tsx";
import { tenantNames } from "../shared/access_queries.ts";
import { searchOf } from "../shared/api.ts";
import { recurringPath } from "../shared/job_paths.ts";
import type { Answer } from "../shared/operations.ts";
import type { View, Visit } from "../shared/page.ts";
import { inTenantOf } from "../shared/scope.ts";
import { recurringJobTexts, upcomingTexts } from "./texts.ts";

type Upcoming = Answer<"readUpcoming">;
type Entry = Upcoming["entries"][number];

/** The tabs of the recurring jobs and of everything that will happen. */
export const scheduleTabs = (v: Visit, current: "recurring" | "upcoming") =>
  pageTabs(recurringJobTexts[v.locale].title, current, [
    ["recurring", recurringJobTexts[v.locale].title],
    ["upcoming", upcomingTexts[v.locale].title],
  ]);

/** The next 24 hours on one axis, and the next five runs of every schedule, in the viewer's time zone. */
export async function upcomingPage(v: Visit): Promise<View> {
  const t = upcomingTexts[v.locale];
  const { entries, schedules, leftOut, partial } = await v.api.call("readUpcoming");
  const tenants = await tenantNames(v, schedules.map(({ tenantId }) => tenantId));
  const tenantOf = new Map(schedules.map(({ kind, id, tenantId }) => [kind + id, tenantId]));
  const link = (entry: LinkedEntry) => nameOf(v, entry, tenantOf.get(entry.kind + entry.id) ?? null);
  const tenantOfEntry = ({ kind, id }: LinkedEntry) => tenants.get(tenantOf.get(kind + id) ?? "");
  const named = (kinds: Entry["kind"][]) => kinds.map((kind) => t[kind]).join(", ");
  return {
    title: t.title,
    crumbs: [{ href: "recurring", label: recurringJobTexts[v.locale].title }],
    body: [
      scheduleTabs(v, "upcoming"),
      <LivePart v={v} id="upcoming" everySeconds={60}>
        {partial.length > 0 && <Notice tone="warn">{t.partial(named(partial))}</Notice>}
        <Card>
          {dataTable(t.caption, entries, <Empty icon="recurring" title={t.none} />, [
            { head: t.time, cell: ({ at }) => <ClockTime v={v} at={at} /> },
            { head: t.what, cell: ({ kind }) => t[kind] },
            {
              head: t.name,
              cell: (entry) => [link(entry), !v.scope && <span class="sub">{tenantOfEntry(entry)}</span>],
            },
            { head: t.count, align: "end", cell: ({ kind, count }) => countText(v, kind, count) },
          ])}
        </Card>
        {leftOut.length > 0 && <p class="muted">{t.leftOut(named(leftOut))}</p>}
        {tableCard(t.schedules, schedules, <Empty icon="recurring" title={t.noSchedules} />, [
          {
            head: t.name,
            cell: (schedule) => [
              nameOf(v, schedule, schedule.tenantId),
              <span class="sub">
                {[t[schedule.kind], tenants.get(schedule.tenantId ?? "")].filter(Boolean).join(" · ")}
              </span>,
            ],
          },
          {
            head: t.runs(v.timeZone),
            cell: ({ runs }) => (
              <span class="row">{runs.map((at) => <ClockTime v={v} at={at} isShort />)}</span>
            ),
          },
        ], { caption: t.schedulesCaption })}
      </LivePart>,
    ],
  };
}

/** Of a schedule, only the next five runs are known. */
const countText = (v: Visit, kind: Entry["kind"], count: number): string =>
  number(v, count) + (count === 5 && (kind === "RecurringJob" || kind === "ReportSchedule") ? "+" : "");

/** The time of day, with the date on another day; in full with the time from now below it. */
const ClockTime = ({ v, at, isShort }: { v: Visit; at: string; isShort?: boolean }) => (
  <span class="nowrap">
    <time datetime={at}>{clockTime(v, at)}</time>
    {!isShort && (
      <span class="sub">
        <Time v={v} at={at} />
      </span>
    )}
  </span>
);

type LinkedEntry = Pick<Entry, "kind" | "id" | "name">;

/** The pages of the things of a kind: of one thing by its id, or the list of several. */
const PAGES: Record<
  Exclude<Entry["kind"], "RecurringJob">,
  (entry: { id: string | null; name: string | null }) => string
> = {
  ReportSchedule: ({ id }) => `report-schedules/${id}`,
  Job: ({ id, name }) => id ? `jobs/${id}` : `jobs${searchOf({ status: "Scheduled", jobTypeName: name })}`,
  Retry: ({ id, name }) => id ? `jobs/${id}` : `jobs${searchOf({ status: "Failed", jobTypeName: name })}`,
  Message: ({ id }) => id ? `notifications/${id}` : "notifications?status=Scheduled",
  FilePurge: ({ id }) => id ? `files/${id}` : "files",
  ApiKeyExpiry: () => "api-keys",
  SetupLinkExpiry: () => "tenants/sign-in",
};

/** The name, with a link to its page. Of the others in the whole service only the schedules are known to be of a tenant. */
function nameOf(v: Visit, entry: LinkedEntry, tenantId: string | null): Child {
  const { kind, name, id } = entry;
  const text = name ?? id?.slice(-8) ?? "…";
  if (kind === "RecurringJob") return <a href={recurringPath(v, { jobId: id ?? "", tenantId })}>{text}</a>;
  if (kind === "ReportSchedule") return <a href={inTenantOf(v, tenantId, PAGES[kind](entry))}>{text}</a>;
  if (!v.scope && (kind === "ApiKeyExpiry" || kind === "SetupLinkExpiry")) return text;
  return <a href={PAGES[kind](!v.scope && kind === "Message" ? { name, id: null } : entry)}>{text}</a>;
}
