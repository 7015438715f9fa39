import type { ConsoleSection } from "../shared/page.ts";
import { generate, generatePage } from "./generate.tsx";
import { deleteRun, downloadRun, redeliver, runPage } from "./run.tsx";
import { runsPage } from "./runs.tsx";
import { scheduleAction, schedulePage } from "./schedule.tsx";
import { createSchedule, editSchedulePage, newSchedulePage, updateSchedule } from "./schedule_form.tsx";
import { scheduleTexts } from "./schedule_texts.ts";
import { schedulesPage } from "./schedules.tsx";
import { templatesPage } from "./templates.tsx";
import { reportTexts } from "./texts.ts";

/** Report templates, runs and schedules. The API checks the permissions of each report's data. */
export const reportsSection: ConsoleSection = {
  title: { en: reportTexts.en.reports, pt: reportTexts.pt.reports },
  nav: [
    {
      path: "reports",
      label: { en: reportTexts.en.templates, pt: reportTexts.pt.templates },
      icon: "reports",
    },
    { path: "report-runs", label: { en: reportTexts.en.history, pt: reportTexts.pt.history }, icon: "audit" },
    {
      path: "report-schedules",
      label: { en: scheduleTexts.en.schedules, pt: scheduleTexts.pt.schedules },
      icon: "schedules",
    },
  ],
  pages: [
    { path: "reports", get: templatesPage },
    { path: "reports/{templateId}", get: generatePage, post: generate },
    { path: "report-runs", get: runsPage },
    { path: "report-runs/{id}", get: runPage },
    { path: "report-runs/{id}/download", get: downloadRun },
    { path: "report-runs/{id}/delete", post: deleteRun },
    { path: "report-runs/{id}/redeliver", post: redeliver },
    { path: "report-schedules", get: schedulesPage },
    { path: "report-schedules/new", get: newSchedulePage, post: createSchedule },
    { path: "report-schedules/{id}", get: schedulePage },
    { path: "report-schedules/{id}/edit", get: editSchedulePage, post: updateSchedule },
    ...(["pause", "resume", "trigger", "delete"] as const).map((action) => ({
      path: `report-schedules/{id}/${action}`,
      post: scheduleAction(action),
    })),
  ],
};
