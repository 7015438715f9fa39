import { accessRows } from "./access_rows.ts";
import { eventRows } from "./event_rows.ts";
import { fileRows } from "./file_rows.ts";
import { jobRows } from "./job_rows.ts";
import { notificationRows } from "./notification_rows.ts";
import { oauthRows } from "./oauth_rows.ts";
import { reportRows } from "./report_rows.ts";
import { resourceRows } from "./resource_rows.ts";
import { scimRows } from "./scim_rows.ts";
import { serviceRows } from "./service_rows.ts";
import type { Rows } from "./rows.ts";

/** Every route of the service, by operation id. */
export const ROWS: Rows = {
  ...serviceRows,
  ...accessRows,
  ...jobRows,
  ...fileRows,
  ...notificationRows,
  ...reportRows,
  ...resourceRows,
  ...eventRows,
  ...oauthRows,
  ...scimRows,
};
