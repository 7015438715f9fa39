import { JOB_STATUSES, JOB_TYPES, PRIORITIES } from "../../../domain/jobs/job_row.ts";
import { ButtonLink } from "../components/forms.tsx";
import { choice, hidden, labelled, list, search, text, timeColumn } from "../components/list.tsx";
import type { Column } from "../components/table.tsx";
import { Tabs } from "../components/tabs.tsx";
import { duration, number, shortId, Time } from "../components/values.tsx";
import { searchOf } from "../shared/api.ts";
import type { View, Visit } from "../shared/page.ts";
import { jobActions } from "./row_actions.ts";
import { type Job, type JobStatus, JobStatusBadge, jobStatusLabels } from "./job_status.tsx";
import { jobOriginLabels, jobPriorityLabels, jobTexts } from "./texts.ts";

/** Jobs, filtered and sorted by the query; newest first by default. */
export async function jobsPage(v: Visit): Promise<View> {
  const t = jobTexts[v.locale];
  const { type, priority, queue, searchTerm, sortBy, sortDirection } = Object.fromEntries(v.query);
  const [page, { statuses }] = await Promise.all([
    v.api.list("listJobs", v, {
      orderBy: sortBy,
      ascending: sortBy ? sortDirection !== "Descending" : null,
    }),
    v.api.call("countJobsByStatus", { query: { type, priority, queue, searchTerm } }),
  ]);
  return {
    title: t.jobs,
    actions: <ButtonLink href="jobs/new" label={t.enqueue} icon="plus" tone="primary" />,
    body: list(v, page, {
      path: "jobs",
      icon: "jobs",
      caption: t.caption,
      empty: [t.noJobs, t.noJobsText],
      filters: [
        ...["status", "sortBy", "sortDirection"].map(hidden),
        search(t.searchTypes, "searchTerm"),
        choice("type", t.trigger, labelled(JOB_TYPES, jobOriginLabels[v.locale])),
        choice("priority", t.priority, labelled(PRIORITIES, jobPriorityLabels[v.locale])),
        text("queue", t.queue, { maxlength: 64 }),
      ],
      everySeconds: 5,
      above: <StatusTabs v={v} counts={statuses} />,
      bulk: jobActions,
      columns: jobColumns(v),
    }),
  };
}

/** A tab per status that has jobs, and one for the selected status. */
function StatusTabs({ v, counts }: { v: Visit; counts: { status: JobStatus; count: number }[] }) {
  const current = JOB_STATUSES.find((status) => status === v.query.get("status")) ?? null;
  const at = new Map(counts.map(({ status, count }) => [status, count]));
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const tab = (status: JobStatus | null, label: string, count: number) => ({
    href: "jobs" + searchOf({ ...Object.fromEntries(v.query), status, page: null }),
    label,
    isCurrent: status === current,
    count: number(v, count),
  });
  const shown = JOB_STATUSES.filter((status) => at.has(status) || status === current);
  return (
    <Tabs
      label={jobTexts[v.locale].statuses}
      tabs={[
        tab(null, jobTexts[v.locale].all, total),
        ...shown.map((status) => tab(status, jobStatusLabels[v.locale][status], at.get(status) ?? 0)),
      ]}
    />
  );
}

/** Columns of a table of jobs. */
export function jobColumns(v: Visit): Column<Job>[] {
  const t = jobTexts[v.locale];
  return [
    {
      head: t.job,
      cell: ({ id, jobTypeName }) => (
        <>
          <a href={`jobs/${id}`}>{jobTypeName}</a>
          <span class="sub">
            <code title={id}>{shortId(id)}</code>
          </span>
        </>
      ),
    },
    {
      head: t.status,
      sort: "Status",
      cell: ({ status, lastError, waitReason }) => {
        const reason = waitReason ?? (status === "Succeeded" ? null : lastError);
        return (
          <>
            <JobStatusBadge locale={v.locale} status={status} />
            {reason && <span class="sub one-line" title={reason}>{reason}</span>}
          </>
        );
      },
    },
    { head: t.queue, cell: ({ queue }) => <span class="nowrap">{queue}</span>, wideOnly: true },
    {
      head: t.priority,
      sort: "Priority",
      cell: ({ priority }) => jobPriorityLabels[v.locale][priority],
      wideOnly: true,
    },
    { head: t.attempts, align: "end", cell: ({ attempts, maxRetries }) => t.of(attempts, maxRetries + 1) },
    timeColumn(v, t.created, "createdAt", { sort: "CreatedAt" }),
    {
      head: t.ended,
      sort: "CompletedAt",
      cell: ({ startedAt, completedAt }) =>
        completedAt && (
          <>
            <Time v={v} at={completedAt} />
            {startedAt && (
              <span class="sub">
                {duration(v, Math.max(0, Date.parse(completedAt) - Date.parse(startedAt)))}
              </span>
            )}
          </>
        ),
      wideOnly: true,
    },
  ];
}
