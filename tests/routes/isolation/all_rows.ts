import { accessRows } from "./access_rows.ts";
import { eventRows } from "./event_rows.ts";
import { fileRows } from "./file_rows.ts";
import { jobRows } from "./job_rows.ts";
import { notificationRows } from "./notification_rows.ts";
import { reportRows } from "./report_rows.ts";
import { resourceRows } from "./resource_rows.ts";
import { serviceRows } from "./service_rows.ts";
import type { Ask, Rows } from "./rows.ts";
import { ABSENT } from "./world.ts";

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
};

/** A route with its parameters filled in; parameters without a value get one that does not exist. */
export function pathOf(path: string, { params = {}, query = {} }: Ask): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name] ?? ABSENT.user));
  const search = new URLSearchParams(query).toString();
  return search ? `${filled}?${search}` : filled;
}
