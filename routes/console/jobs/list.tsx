import { JOB_STATUSES, JOB_TYPES, PRIORITIES } from "../../../domain/jobs/job_row.ts";
import { ButtonLink, FilterBar, SelectField, TextField } from "../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Tabs } from "../components/tabs.tsx";
import { duration, number, shortId, Time } from "../components/values.tsx";
import { type Page, searchOf } from "../shared/api.ts";
import type { View, Visit } from "../shared/page.ts";
import { type Job, type JobStatus, JobStatusBadge, jobStatusLabels } from "./job_status.tsx";
import { jobOriginLabels, jobPriorityLabels, jobTexts } from "./texts.ts";

const FILTERS = ["type", "priority", "queue", "searchTerm"] as const;

/** Jobs, filtered and sorted by the query; newest first by default. */
export async function jobsPage(v: Visit): Promise<View> {
  const t = jobTexts[v.locale];
  const { all } = t;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, v.query.get(name)]));
  const sortBy = v.query.get("sortBy");
  const [page, counts] = await Promise.all([
    v.api.get<Page<Job>>("jobs", {
      ...filters,
      status: v.query.get("status"),
      page: v.query.get("page"),
      orderBy: sortBy,
      ascending: sortBy ? v.query.get("sortDirection") !== "Descending" : null,
    }),
    v.api.get<{ statuses: { status: JobStatus; count: number }[] }>("jobs/counts", filters),
  ]);
  return {
    title: t.jobs,
    actions: <ButtonLink href="jobs/new" label={t.enqueue} icon="plus" tone="primary" />,
    body: (
      <>
        <FilterBar v={v} action="jobs" target="jobs-list">
          {["status", "sortBy", "sortDirection"].map((name) =>
            v.query.get(name) && <input type="hidden" name={name} value={v.query.get(name) ?? ""} />
          )}
          <TextField label={t.searchTypes} name="searchTerm" type="search" value={filters.searchTerm} />
          <SelectField
            label={t.trigger}
            name="type"
            any={all}
            value={filters.type}
            choices={JOB_TYPES.map((value) => ({ value, label: jobOriginLabels[v.locale][value] }))}
          />
          <SelectField
            label={t.priority}
            name="priority"
            any={all}
            value={filters.priority}
            choices={PRIORITIES.map((value) => ({ value, label: jobPriorityLabels[v.locale][value] }))}
          />
          <TextField label={t.queue} name="queue" value={filters.queue} maxlength={64} />
        </FilterBar>
        <LivePart v={v} id="jobs-list" everySeconds={5}>
          <StatusTabs v={v} counts={counts.statuses} />
          <DataTable
            caption={t.caption}
            columns={jobColumns(v)}
            rows={page.items}
            sorting={{ v, path: "jobs" }}
            empty={<EmptyList v={v} icon="jobs" text={t.noJobs}>{t.noJobsText}</EmptyList>}
          />
          <Pager v={v} path="jobs" page={page} />
        </LivePart>
      </>
    ),
  };
}

/** A tab per status that has jobs, and one for the selected status. */
function StatusTabs({ v, counts }: { v: Visit; counts: { status: JobStatus; count: number }[] }) {
  const current = JOB_STATUSES.find((status) => status === v.query.get("status")) ?? null;
  const at = new Map(counts.map(({ status, count }) => [status, count]));
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const to = (status: string | null) =>
    "jobs" + searchOf({ ...Object.fromEntries(v.query), status, page: null });
  return (
    <Tabs
      label={jobTexts[v.locale].statuses}
      tabs={[
        {
          href: to(null),
          label: jobTexts[v.locale].all,
          isCurrent: current === null,
          count: number(v, total),
        },
        ...JOB_STATUSES.filter((status) => at.has(status) || status === current).map((status) => ({
          href: to(status),
          label: jobStatusLabels[v.locale][status],
          isCurrent: status === current,
          count: number(v, at.get(status) ?? 0),
        })),
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
      cell: ({ status, lastError }) => (
        <>
          <JobStatusBadge locale={v.locale} status={status} />
          {lastError && status !== "Succeeded" && (
            <span class="sub one-line" title={lastError}>{lastError}</span>
          )}
        </>
      ),
    },
    { head: t.queue, cell: ({ queue }) => <span class="nowrap">{queue}</span>, wideOnly: true },
    {
      head: t.priority,
      sort: "Priority",
      cell: ({ priority }) => jobPriorityLabels[v.locale][priority],
      wideOnly: true,
    },
    { head: t.attempts, align: "end", cell: ({ attempts, maxRetries }) => t.of(attempts, maxRetries + 1) },
    { head: t.created, sort: "CreatedAt", cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
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
