import type { ReportTemplate } from "../definition/report_template.ts";
import { accessMatrixReport } from "./access_matrix.ts";
import { archivedRowsReport } from "./archived_rows.ts";
import { auditLogReport } from "./audit_log.ts";
import { deadLettersReport } from "./dead_letters.ts";
import { fileInventoryReport } from "./file_inventory.ts";
import { jobExecutionsReport } from "./job_executions.ts";
import { notificationDeliveriesReport } from "./notification_deliveries.ts";
import { rolePermissionsReport } from "./role_permissions.ts";
import { tenantsOverviewReport } from "./tenants_overview.ts";
import { usersReport } from "./users.ts";

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
