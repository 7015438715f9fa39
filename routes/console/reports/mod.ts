import { inEveryLanguage } from "../shared/languages.ts";
import { type ConsoleSection, navItem } from "../shared/page.ts";
import { deliverPage, runPages, runsPage } from "./runs.tsx";
import { documentEditorPages, documentTemplatesPage } from "./document_editor.tsx";
import { documentGeneratePage, documentVersionPages } from "./document_versions.tsx";
import { documentTemplateTexts, reportTexts, scheduleTexts } from "./texts.ts";
import { generatePage, templatesPage } from "./templates.tsx";
import { editSchedulePage, newSchedulePage, schedulePages, schedulesPage } from "./schedule.tsx";
import { targetPages } from "./targets.tsx";

const permissions = ["manage:document-templates", "generate:documents"];

/** Report templates, runs and schedules. The API checks the permissions of each report's data. */
export const reportsSection: ConsoleSection = {
  area: "reports",
  title: inEveryLanguage(reportTexts, "reports"),
  nav: [
    navItem(reportTexts, "templates", { path: "reports", icon: "reports" }),
    navItem(reportTexts, "history", { path: "report-runs", icon: "audit" }),
    navItem(scheduleTexts, "schedules", { path: "report-schedules", icon: "schedules" }),
    navItem(documentTemplateTexts, "title", {
      path: "document-templates",
      icon: "templates",
      needsTenant: true,
    }),
  ],
  pages: [
    { path: "reports", get: templatesPage },
    generatePage,
    { path: "report-runs", get: runsPage },
    ...runPages,
    deliverPage,
    { path: "report-schedules", get: schedulesPage },
    newSchedulePage,
    ...schedulePages,
    editSchedulePage,
    ...targetPages,
    { path: "document-templates", permissions, get: documentTemplatesPage },
    ...documentEditorPages,
    ...documentVersionPages,
    documentGeneratePage,
  ],
};
