import type { Row, Rows } from "./rows.ts";

const execution: Row = {
  names: (id) => ({ params: { id: id("execution") } }),
  code: "REPORT_NOT_FOUND",
};

/** Report executions. */
export const reportRows: Rows = {
  generateReport: { own: () => ({ body: { templateId: "users", format: 3 } }) },
  generateReportAsync: { own: () => ({ body: { templateId: "users", format: 3 } }) },
  listReportTemplates: { own: () => ({}) },
  listReportExecutions: { own: () => ({}) },
  readReportExecution: execution,
  downloadReport: execution,
  deleteReportExecution: execution,
};
