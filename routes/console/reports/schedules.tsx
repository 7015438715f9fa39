import { buttonLink } from "../components/forms.tsx";
import { choice, linkColumn, listView, timeColumn } from "../components/list.tsx";
import { Badge, Time } from "../components/values.tsx";
import type { View, Visit } from "../shared/page.ts";
import { nameIn, readTemplates, runBadges, templateChoices } from "./model.tsx";
import { scheduleTexts } from "./schedule_texts.ts";
import { reportTexts } from "./texts.ts";

/** Schedules the viewer may see, newest first. */
export async function schedulesPage(v: Visit): Promise<View> {
  const t = scheduleTexts[v.locale];
  const templates = await readTemplates(v);
  return await listView(v, "listReportSchedules", {
    path: "report-schedules",
    id: "schedules",
    icon: "schedules",
    title: t.schedules,
    actions: templates.length > 0 &&
      buttonLink("report-schedules/new", t.newSchedule, { icon: "plus", tone: "primary" }),
    caption: t.caption,
    empty: [t.none, t.noneText],
    query: { pageNumber: v.query.get("page") },
    filters: [
      choice("templateId", reportTexts[v.locale].template, templateChoices(templates)),
      choice("isActive", t.status, { true: t.active, false: t.paused }),
    ],
    everySeconds: 10,
    columns: [
      linkColumn(
        t.name,
        ({ id, name, templateId }) => [`report-schedules/${id}`, name, nameIn(templates, templateId)],
      ),
      { head: t.status, cell: ({ isActive }) => <ActivityBadge v={v} isActive={isActive} /> },
      {
        head: t.schedule,
        cell: ({ cronExpression, timeZoneId }) => (
          <>
            <code>{cronExpression}</code>
            <span class="sub nowrap">{timeZoneId}</span>
          </>
        ),
      },
      timeColumn(v, t.next, "nextRunAt"),
      {
        head: t.last,
        cell: ({ lastRunAt, lastStatus, lastDeliveryStatus }) => (
          <span class="row">
            <Time v={v} at={lastRunAt} />
            {lastStatus !== null && runBadges(v, lastStatus, lastDeliveryStatus)}
          </span>
        ),
      },
    ],
  });
}

/** Active or paused, as a coloured label. */
export const ActivityBadge = ({ v, isActive }: { v: Visit; isActive: boolean }) => (
  <Badge tone={isActive ? "ok" : "idle"}>
    {isActive ? scheduleTexts[v.locale].active : scheduleTexts[v.locale].paused}
  </Badge>
);
