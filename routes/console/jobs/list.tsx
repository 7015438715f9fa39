import { JOB_STATUSES, PRIORITIES } from "../../../domain/jobs/job_row.ts";
import { FilterBar, SelectField, TextField } from "../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { shortId, Time } from "../components/values.tsx";
import type { Page } from "../shared/api.ts";
import { shared } from "../shared/console_words.ts";
import type { View, Visit } from "../shared/page.ts";
import { type Job, JobStatusBadge, statusWords } from "./job_status.tsx";
import { words } from "./words.ts";

const FILTERS = ["status", "priority", "queue", "searchTerm"] as const;

/** Jobs, newest first, filtered by what the address says. */
export async function jobsPage(v: Visit): Promise<View> {
  const w = words[v.locale];
  const all = shared[v.locale].all;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, v.query.get(name)]));
  const page = await v.api.get<Page<Job>>("jobs", { ...filters, page: v.query.get("page") });
  return {
    title: w.jobs,
    body: (
      <>
        <FilterBar v={v} action="jobs" target="jobs-list">
          <TextField label={w.searchTypes} name="searchTerm" type="search" value={filters.searchTerm} />
          <SelectField
            label={w.status}
            name="status"
            any={all}
            value={filters.status}
            choices={JOB_STATUSES.map((value) => ({ value, label: statusWords[v.locale][value] }))}
          />
          <SelectField
            label={w.priority}
            name="priority"
            any={all}
            value={filters.priority}
            choices={PRIORITIES.map((value) => ({ value, label: value }))}
          />
          <TextField label={w.queue} name="queue" value={filters.queue} maxlength={64} />
        </FilterBar>
        <LivePart v={v} id="jobs-list" everySeconds={5}>
          <DataTable
            caption={w.caption}
            columns={columns(v)}
            rows={page.items}
            empty={<EmptyList v={v} icon="jobs" text={w.noJobs}>{w.noJobsText}</EmptyList>}
          />
          <Pager v={v} path="jobs" page={page} />
        </LivePart>
      </>
    ),
  };
}

function columns(v: Visit): Column<Job>[] {
  const w = words[v.locale];
  return [
    {
      head: w.job,
      cell: ({ id, jobTypeName }) => (
        <>
          <a href={`jobs/${id}`}>{jobTypeName}</a>
          <span class="sub">
            <code>{shortId(id)}</code>
          </span>
        </>
      ),
    },
    { head: w.status, cell: ({ status }) => <JobStatusBadge locale={v.locale} status={status} /> },
    { head: w.queue, cell: ({ queue }) => queue, wideOnly: true },
    { head: w.priority, cell: ({ priority }) => priority, wideOnly: true },
    { head: w.attempts, align: "end", cell: ({ attempts, maxRetries }) => w.of(attempts, maxRetries + 1) },
    { head: w.created, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
    { head: w.ended, cell: ({ completedAt }) => <Time v={v} at={completedAt} />, wideOnly: true },
  ];
}
