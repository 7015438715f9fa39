import { FilterBar, SelectField, TextField } from "../components/forms.tsx";
import { instantOf } from "../components/date_inputs.ts";
import { Notice } from "../components/notice.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { bytes, Time } from "../components/values.tsx";
import type { Page } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import type { View, Visit } from "../shared/page.ts";
import {
  formatChoices,
  formatName,
  isMoving,
  readTemplates,
  RunStatusBadge,
  type RunSummary,
  statusChoices,
  type Template,
} from "./model.tsx";
import { reportTexts } from "./texts.ts";

/** Query parameters that filter the list. Only links set the last two. */
const FILTERS = ["templateId", "status", "format", "scheduleId", "burstId"] as const;

/** Report runs the viewer may see, newest first, with their status. */
export async function runsPage(v: Visit): Promise<View> {
  const t = reportTexts[v.locale];
  const filters = Object.fromEntries(FILTERS.map((name) => [name, v.query.get(name)]));
  const [page, templates] = await Promise.all([
    v.api.get<Page<RunSummary>>("reports/history", {
      ...filters,
      fromDate: instantOf(v, v.query.get("from") ?? ""),
      toDate: instantOf(v, v.query.get("to") ?? "", true),
      pageNumber: v.query.get("page"),
    }),
    readTemplates(v),
  ]);
  return {
    title: t.history,
    body: (
      <>
        {filters.scheduleId && <FilterNotice v={v} text={t.ofSchedule} />}
        {filters.burstId && <FilterNotice v={v} text={t.ofBurst} />}
        <Filters v={v} templates={templates} />
        <LivePart v={v} id="runs" everySeconds={page.items.some(isMoving) ? 2 : 15}>
          <RunsTable v={v} rows={page.items} empty={t.noRuns} />
          <Pager v={v} path="report-runs" page={page} />
        </LivePart>
      </>
    ),
  };
}

const FilterNotice = ({ v, text }: { v: Visit; text: string }) => (
  <Notice tone="info">
    {text} <a href="report-runs">{commonTexts[v.locale].clear}</a>
  </Notice>
);

function Filters({ v, templates }: { v: Visit; templates: Template[] }) {
  const t = reportTexts[v.locale];
  const { all } = commonTexts[v.locale];
  const { query } = v;
  return (
    <FilterBar v={v} action="report-runs" target="runs">
      {(["scheduleId", "burstId"] as const).map((name) =>
        query.get(name) && <input type="hidden" name={name} value={query.get(name) ?? ""} />
      )}
      <SelectField
        label={t.template}
        name="templateId"
        any={all}
        value={query.get("templateId")}
        choices={templates.map(({ templateId, displayName }) => ({ value: templateId, label: displayName }))}
      />
      <SelectField
        label={t.status}
        name="status"
        any={all}
        value={query.get("status")}
        choices={statusChoices(v.locale)}
      />
      <SelectField
        label={t.format}
        name="format"
        any={all}
        value={query.get("format")}
        choices={formatChoices}
      />
      <TextField label={t.from} name="from" type="date" value={query.get("from")} />
      <TextField label={t.to} name="to" type="date" value={query.get("to")} />
    </FilterBar>
  );
}

/** A table of report runs. */
export function RunsTable({ v, rows, empty }: { v: Visit; rows: RunSummary[]; empty: string }) {
  const t = reportTexts[v.locale];
  const columns: Column<RunSummary>[] = [
    {
      head: t.report,
      cell: ({ id, reportName }) => <a href={`report-runs/${id}`}>{translateBuiltin(v.locale, reportName)}
      </a>,
    },
    {
      head: t.status,
      cell: (run) => (
        <span class="row">
          <RunStatusBadge locale={v.locale} status={run.status} />
          {run.status === 2 && <progress aria-label={t.inProgress}></progress>}
        </span>
      ),
    },
    { head: t.format, cell: ({ format }) => formatName(format) },
    {
      head: t.size,
      align: "end",
      cell: ({ fileSizeBytes }) => <span class="nowrap">{bytes(v, fileSizeBytes)}</span>,
      wideOnly: true,
    },
    { head: t.requested, cell: ({ createdAt }) => <Time v={v} at={createdAt} /> },
    { head: t.completed, cell: ({ completedAt }) => <Time v={v} at={completedAt} />, wideOnly: true },
  ];
  return (
    <DataTable
      caption={t.historyCaption}
      columns={columns}
      rows={rows}
      empty={<EmptyList v={v} icon="reports" text={empty}>{t.noRunsText}</EmptyList>}
    />
  );
}
