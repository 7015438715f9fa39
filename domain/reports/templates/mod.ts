import type { ReportTemplate } from "../definition/report_template.ts";
import {
  archivedRowsReport,
  deadLettersReport,
  fileInventoryReport,
  jobExecutionsReport,
  notificationDeliveriesReport,
} from "./operations.ts";
import {
  accessMatrixReport,
  auditLogReport,
  rolePermissionsReport,
  tenantsOverviewReport,
  usersReport,
} from "./access.ts";

/** The built-in reports, in list order. */
export const BUILT_IN_REPORTS: ReportTemplate[] = [
  usersReport,
  accessMatrixReport,
  rolePermissionsReport,
  auditLogReport,
  jobExecutionsReport,
  deadLettersReport,
  notificationDeliveriesReport,
  fileInventoryReport,
  tenantsOverviewReport,
  archivedRowsReport,
];
