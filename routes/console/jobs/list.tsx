import { JOB_STATUSES, JOB_TYPES, PRIORITIES } from "../../../domain/jobs/job_row.ts";
import { ButtonLink, FilterBar, SelectField, TextField } from "../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Tabs } from "../components/tabs.tsx";
import { duration, number, shortId, Time } from "../components/values.tsx";
import { type Page, searchOf } from "../shared/api.ts";
import type { View, Visit } from "../shared/page.ts";
import { type Job, type JobStatus, JobStatusBadge, statusWords } from "./job_status.tsx";
import { originWords, priorityWords, words } from "./words.ts";

const FILTERS = ["type", "priority", "queue", "searchTerm"] as const;

/** Jobs, newest first unless sorted otherwise, filtered by what the address says. */
export async function jobsPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const { all } = w;
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
    title: w.jobs,
    actions: <ButtonLink href="jobs/new" label={w.enqueue} icon="plus" tone="primary" />,
    body: (
      <>
        <FilterBar v={v} action="jobs" target="jobs-list">
          {["status", "sortBy", "sortDirection"].map((name) =>
            v.query.get(name) && <input type="hidden" name={name} value={v.query.get(name) ?? ""} />
          )}
          <TextField label={w.searchTypes} name="searchTerm" type="search" value={filters.searchTerm} />
          <SelectField
            label={w.origin}
            name="type"
            any={all}
            value={filters.type}
            choices={JOB_TYPES.map((value) => ({ value, label: originWords[v.locale][value] }))}
          />
          <SelectField
            label={w.priority}
            name="priority"
            any={all}
            value={filters.priority}
            choices={PRIORITIES.map((value) => ({ value, label: priorityWords[v.locale][value] }))}
          />
          <TextField label={w.queue} name="queue" value={filters.queue} maxlength={64} />
        </FilterBar>
        <LivePart v={v} id="jobs-list" everySeconds={5}>
          <StatusTabs v={v} counts={counts.statuses} />
          <DataTable
            caption={w.caption}
            columns={jobColumns(v)}
            rows={page.items}
            sorting={{ v, path: "jobs" }}
            empty={<EmptyList v={v} icon="jobs" text={w.noJobs}>{w.noJobsText}</EmptyList>}
          />
          <Pager v={v} path="jobs" page={page} />
        </LivePart>
      </>
    ),
  };
}

/** Every status that has jobs, and the one looked at. */
function StatusTabs({ v, counts }: { v: Visit; counts: { status: JobStatus; count: number }[] }) {
  const current = JOB_STATUSES.find((status) => status === v.query.get("status")) ?? null;
  const at = new Map(counts.map(({ status, count }) => [status, count]));
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const to = (status: string | null) =>
    "jobs" + searchOf({ ...Object.fromEntries(v.query), status, page: null });
  return (
    <Tabs
      label={words[v.locale].statuses}
      tabs={[
        {
          href: to(null),
          label: words[v.locale].all,
          isCurrent: current === null,
          count: number(v, total),
        },
        ...JOB_STATUSES.filter((status) => at.has(status) || status === current).map((status) => ({
          href: to(status),
          label: statusWords[v.locale][status],
          isCurrent: status === current,
          count: number(v, at.get(status) ?? 0),
        })),
      ]}
    />
  );
}

/** What a table of jobs shows of each. */
export function jobColumns(v: Visit): Column<Job>[] {
  const w = words[v.locale];
  return [
    {
      head: w.job,
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
      head: w.status,
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
    { head: w.queue, cell: ({ queue }) => <span class="nowrap">{queue}</span>, wideOnly: true },
    {
      head: w.priority,
      sort: "Priority",
      cell: ({ priority }) => priorityWords[v.locale][priority],
      wideOnly: true,
    },
    { head: w.attempts, align: "end", cell: ({ attempts, maxRetries }) => w.of(attempts, maxRetries + 1) },
    { head: w.created, sort: "CreatedAt", cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
    {
      head: w.ended,
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
