import { STATUS } from "../../../domain/reports/status.ts";
import { periodOf } from "../components/date_inputs.ts";
import { choice, hidden, linkColumn, list, period, tenantColumn, timeColumn } from "../components/list.tsx";
import { Card, Notice } from "../components/notice.tsx";
import type { Column } from "../components/table.tsx";
import { bytes, exactTime, factList } from "../components/values.tsx";
import { tenantNames } from "../shared/access_queries.ts";
import { everywhere, inTenantOf } from "../shared/scope.ts";
import type { Row } from "../shared/operations.ts";
import type { View, Visit } from "../shared/page.ts";
import {
  formatChoices,
  formatName,
  isMoving,
  readTemplates,
  runFilterOf,
  runState,
  runStates,
  runTitle,
  stateChoices,
  type Template,
  templateChoices,
} from "./model.tsx";
import { reportTexts } from "./texts.ts";
import { commonTexts } from "../shared/common_texts.ts";

type ListedRun = Row<"listReportExecutions">;

/** Report runs the viewer may see, newest first, with their status. */
export async function runsPage(v: Visit): Promise<View> {
  const t = reportTexts[v.locale];
  const since = v.query.get("fromDate");
  const { fromDate = since, toDate } = periodOf(v);
  const [page, templates] = await Promise.all([
    v.api.list("listReportExecutions", v, {
      fromDate,
      toDate,
      pageNumber: v.query.get("page"),
      ...runFilterOf(v.query.get("state")),
      ...everywhere(v),
    }),
    readTemplates(v),
  ]);
  const names = everywhere(v).everywhere && await tenantNames(v, page.items.map(({ tenantId }) => tenantId));
  return {
    title: t.history,
    body: list(v, page, {
      path: "report-runs",
      id: "runs",
      icon: "reports",
      caption: t.historyCaption,
      empty: [t.noRuns, t.noRunsText],
      top: (
        <>
          {v.query.get("scheduleId") && <FilterNotice v={v} text={t.ofSchedule} />}
          {v.query.get("burstId") && <FilterNotice v={v} text={t.ofBurst} />}
          {since && fromDate === since && <FilterNotice v={v} text={t.sinceOnly(exactTime(v, since))} />}
        </>
      ),
      filters: [
        hidden("scheduleId"),
        hidden("burstId"),
        hidden("fromDate"),
        choice("templateId", t.template, templateChoices(templates)),
        choice("state", t.status, stateChoices(v)),
        choice("format", t.format, formatChoices()),
        ...period(t),
      ],
      everySeconds: page.items.some(isMoving) ? 2 : 15,
      columns: await runColumns(v, page.items, names || null),
    }),
  };
}

const FilterNotice = ({ v, text }: { v: Visit; text: string }) => (
  <Notice tone="info">
    {text} <a href="report-runs">{reportTexts[v.locale].allRuns}</a>
  </Notice>
);

/** The columns of a table of report runs. A run has the title of its schedule, else of its report. */
export async function runColumns(
  v: Visit,
  runs: ListedRun[],
  names: Map<string, string> | null = null,
): Promise<Column<ListedRun>[]> {
  const t = reportTexts[v.locale];
  const schedules = await v.readScheduleNames(runs.map(({ id }) => id));
  return [
    linkColumn(
      t.name,
      ({ id, reportName, tenantId }) => [
        inTenantOf(v, tenantId, `report-runs/${id}`),
        runTitle(v, reportName, schedules.get(id)),
      ],
      {
        below: [[
          t.report,
          ({ id, reportName }) => (v.collect || schedules.has(id)) && runTitle(v, reportName, undefined),
        ]],
      },
    ),
    ...tenantColumn<ListedRun>(t, names),
    {
      head: t.status,
      cell: (run) => (
        <span class="row">
          {runStates.badge(v, runState(run))}
          {run.status === STATUS.Generating && <progress aria-label={t.inProgress}></progress>}
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
    timeColumn(v, t.requested, "createdAt"),
    timeColumn(v, t.completed, "completedAt", { wideOnly: true }),
  ];
}

/** The parameters of a run or a schedule. */
export function ParametersCard(
  { v, templates, of: { templateId, parametersJson } }: {
    v: Visit;
    /** Used for the names of the parameters. */
    templates: Template[];
    of: { templateId: string; parametersJson: string };
  },
) {
  const t = reportTexts[v.locale];
  const { yes, no } = commonTexts[v.locale];
  const entries = Object.entries(JSON.parse(parametersJson) as Record<string, unknown>);
  const template = templates.find((each) => each.templateId === templateId);
  const displayName = (name: string) =>
    template?.parameters.find((each) => each.name === name)?.displayName ?? name;
  const shown = (value: unknown): string => {
    if (typeof value === "boolean") return value ? yes : no;
    return typeof value === "string" ? value : JSON.stringify(value);
  };
  return (
    <Card title={t.parameters}>
      {entries.length === 0
        ? <p class="muted">{commonTexts[v.locale].none}</p>
        : factList(entries.map(([name, value]) => [displayName(name), shown(value)]))}
    </Card>
  );
}
