import { type Ask, resourceRows as resource } from "../../support/isolation.ts";
import { named, type Rows } from "./rows.ts";

const execution = named("execution", "REPORT_NOT_FOUND");
const schedule = (body?: unknown) => named("schedule", "REPORT_SCHEDULE_NOT_FOUND", { body });
const TARGET_NOT_FOUND = "REPORT_TARGET_NOT_FOUND";
const documentTemplate = (more: Ask = {}) => named("documentTemplate", "DOCUMENT_TEMPLATE_NOT_FOUND", more);
const own = { titleTemplate: "Own", bodyTemplate: "<page><p>Own</p></page>" };

/** Report executions, schedules, targets and document templates. */
export const reportRows: Rows = {
  ...resource(
    "reportTarget",
    { one: "reportTarget", many: "reportTargets", notFound: TARGET_NOT_FOUND },
    { name: "Outsider's", kind: "slack", webhookUrl: "https://hooks.example.test/outsider" },
  ),
  testReportTarget: named("reportTarget", TARGET_NOT_FOUND),
  readReportWebhookSecret: { own: () => ({}) },
  rotateReportWebhookSecret: { own: () => ({}) },
  generateReport: { own: () => ({ body: { templateId: "users", format: 3 } }) },
  generateReportAsync: { own: () => ({ body: { templateId: "users", format: 3 } }) },
  listReportTemplates: { own: () => ({}) },
  listReportExecutions: { own: ({ ids }) => ({ query: { tenantId: ids.tenant, everywhere: "true" } }) },
  readReportExecution: execution,
  downloadReport: execution,
  deleteReportExecution: execution,
  redeliverReport: execution,
  listReportSchedules: { own: () => ({}) },
  readReportSchedule: schedule(),
  createReportSchedule: {
    own: () => ({ body: { templateId: "users", name: "Own", cronExpression: "0 5 * * *", format: 3 } }),
  },
  updateReportSchedule: schedule({ name: "Mallory" }),
  deleteReportSchedule: schedule(),
  triggerReportSchedule: schedule(),
  pauseReportSchedule: schedule(),
  resumeReportSchedule: schedule(),
  listDocumentTemplates: { own: () => ({}) },
  listDocumentTemplateSamples: { own: () => ({}) },
  createDocumentTemplate: { own: () => ({ body: { slug: "outsiders-document", name: "Own", ...own } }) },
  previewDocumentTemplate: { own: () => ({ body: own }) },
  readDocumentTemplate: documentTemplate(),
  updateDocumentTemplate: documentTemplate({ body: { name: "Mallory" } }),
  deleteDocumentTemplate: documentTemplate(),
  listDocumentTemplateVersions: documentTemplate(),
  readDocumentTemplateVersion: documentTemplate({ params: { version: "1" } }),
  compareDocumentTemplateVersions: documentTemplate({ params: { version: "1" }, query: { with: "1" } }),
  restoreDocumentTemplateVersion: documentTemplate({ params: { version: "1" } }),
  renderDocumentTemplate: documentTemplate({ body: { data: {} } }),
  generateDocuments: documentTemplate({ body: { data: {} } }),
  followReportLink: { open: "needs the secret of the link" },
};
