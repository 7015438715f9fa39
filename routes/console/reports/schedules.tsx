import { ButtonLink, FilterBar, SelectField } from "../components/forms.tsx";
import { type Column, DataTable, EmptyList, LivePart, Pager } from "../components/table.tsx";
import { Badge, Time } from "../components/values.tsx";
import type { Page } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { View, Visit } from "../shared/page.ts";
import { nameIn, readTemplates, RunStatusBadge, type Schedule, type Template } from "./model.tsx";
import { scheduleTexts } from "./schedule_texts.ts";
import { reportTexts } from "./texts.ts";

/** Schedules the viewer may see, newest first. */
export async function schedulesPage(v: Visit): Promise<View> {
  const t = scheduleTexts[v.locale];
  const { all } = commonTexts[v.locale];
  const filters = { templateId: v.query.get("templateId"), isActive: v.query.get("isActive") };
  const [page, templates] = await Promise.all([
    v.api.get<Page<Schedule>>("reports/schedules", { ...filters, pageNumber: v.query.get("page") }),
    readTemplates(v),
  ]);
  return {
    title: t.schedules,
    actions: templates.length > 0 &&
      <ButtonLink href="report-schedules/new" label={t.newSchedule} icon="plus" tone="primary" />,
    body: (
      <>
        <FilterBar v={v} action="report-schedules" target="schedules">
          <SelectField
            label={reportTexts[v.locale].template}
            name="templateId"
            any={all}
            value={filters.templateId}
            choices={templates.map(({ templateId, displayName }) => ({
              value: templateId,
              label: displayName,
            }))}
          />
          <SelectField
            label={t.status}
            name="isActive"
            any={all}
            value={filters.isActive}
            choices={[{ value: "true", label: t.active }, { value: "false", label: t.paused }]}
          />
        </FilterBar>
        <LivePart v={v} id="schedules" everySeconds={10}>
          <DataTable
            caption={t.caption}
            columns={columns(v, templates)}
            rows={page.items}
            empty={<EmptyList v={v} icon="schedules" text={t.none}>{t.noneText}</EmptyList>}
          />
          <Pager v={v} path="report-schedules" page={page} />
        </LivePart>
      </>
    ),
  };
}

/** Active or paused, as a coloured label. */
export const ActivityBadge = ({ v, isActive }: { v: Visit; isActive: boolean }) => (
  <Badge tone={isActive ? "ok" : "idle"}>
    {isActive ? scheduleTexts[v.locale].active : scheduleTexts[v.locale].paused}
  </Badge>
);

function columns(v: Visit, templates: Template[]): Column<Schedule>[] {
  const t = scheduleTexts[v.locale];
  return [
    {
      head: t.name,
      cell: ({ id, name, templateId }) => (
        <>
          <a href={`report-schedules/${id}`}>{name}</a>
          <span class="sub">{nameIn(templates, templateId)}</span>
        </>
      ),
    },
    { head: t.status, cell: ({ isActive }) => <ActivityBadge v={v} isActive={isActive} /> },
    {
      head: t.schedule,
      cell: ({ cronExpression, timeZoneId }) => (
        <>
          <code>{cronExpression}</code>
          <span class="sub">{timeZoneId}</span>
        </>
      ),
    },
    { head: t.next, cell: ({ nextRunAt }) => <Time v={v} at={nextRunAt} /> },
    {
      head: t.last,
      cell: ({ lastRunAt, lastStatus }) => (
        <span class="row">
          <Time v={v} at={lastRunAt} />
          {lastStatus !== null && <RunStatusBadge locale={v.locale} status={lastStatus} />}
        </span>
      ),
    },
  ];
}
