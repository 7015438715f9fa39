import { type Ask, resourceRows as resource } from "../../support/isolation.ts";
import { all, named, own, type Rows } from "./rows.ts";

const schedule = (body?: unknown) => named("schedule", "REPORT_SCHEDULE_NOT_FOUND", { body });
const TARGET_NOT_FOUND = "REPORT_TARGET_NOT_FOUND";
const documentTemplate = (more: Ask = {}) => named("documentTemplate", "DOCUMENT_TEMPLATE_NOT_FOUND", more);
const texts = { titleTemplate: "Own", bodyTemplate: "<page><p>Own</p></page>" };

/** Report executions, schedules, targets and document templates. */
export const reportRows: Rows = {
  ...resource(
    "reportTarget",
    { one: "reportTarget", many: "reportTargets", notFound: TARGET_NOT_FOUND },
    { name: "Outsider's", kind: "slack", webhookUrl: "https://hooks.example.test/outsider" },
  ),
  testReportTarget: named("reportTarget", TARGET_NOT_FOUND),
  ...all(
    `readReportWebhookSecret rotateReportWebhookSecret listReportTemplates listReportSchedules listDocumentTemplates
    listDocumentTemplateSamples`,
    own(),
  ),
  ...all("generateReport generateReportAsync", own({ body: { templateId: "users", format: 3 } })),
  listReportExecutions: { own: ({ ids }) => ({ query: { tenantId: ids.tenant, everywhere: "true" } }) },
  ...all(
    "readReportExecution downloadReport deleteReportExecution redeliverReport",
    named("execution", "REPORT_NOT_FOUND"),
  ),
  ...all(
    `readReportSchedule deleteReportSchedule triggerReportSchedule pauseReportSchedule resumeReportSchedule`,
    schedule(),
  ),
  createReportSchedule: own({
    body: { templateId: "users", name: "Own", cronExpression: "0 5 * * *", format: 3 },
  }),
  updateReportSchedule: schedule({ name: "Mallory" }),
  createDocumentTemplate: own({ body: { slug: "outsiders-document", name: "Own", ...texts } }),
  previewDocumentTemplate: own({ body: texts }),
  ...all(
    "readDocumentTemplate deleteDocumentTemplate listDocumentTemplateVersions",
    documentTemplate(),
  ),
  updateDocumentTemplate: documentTemplate({ body: { name: "Mallory" } }),
  ...all(
    "readDocumentTemplateVersion restoreDocumentTemplateVersion",
    documentTemplate({ params: { version: "1" } }),
  ),
  compareDocumentTemplateVersions: documentTemplate({ params: { version: "1" }, query: { with: "1" } }),
  ...all("renderDocumentTemplate generateDocuments", documentTemplate({ body: { data: {} } })),
  followReportLink: { open: "needs the secret of the link" },
};
