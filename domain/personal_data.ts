import { accessPersonalData } from "./access/personal_data.ts";
import { auditPersonalData } from "./audit/personal_data.ts";
import { consolePersonalData } from "./console/personal_data.ts";
import { eventPersonalData } from "./events/personal_data.ts";
import { filePersonalData } from "./files/personal_data.ts";
import { jobPersonalData } from "./jobs/personal_data.ts";
import { looksPersonalData } from "./looks/personal_data.ts";
import { oauthPersonalData } from "./oauth/connected_clients.ts";
import { notificationPersonalData } from "./notifications/personal_data.ts";
import { operationsPersonalData } from "./operations/usage.ts";
import { reportPersonalData } from "./reports/personal_data.ts";
import { requestPersonalData } from "./requests/idempotency.ts";
import { recordPersonalData } from "./records/personal_data.ts";
import type { PersonalData } from "./shared/personal_data.ts";
import { userDataPersonalData } from "./user_data/data_request.ts";

/**
 * The work of each area on personal data, in the order in which a tenant is erased: areas that cause events, jobs or
 * audit rows come before those that keep them.
 */
export const allPersonalData: readonly PersonalData<never>[] = [
  consolePersonalData,
  reportPersonalData,
  userDataPersonalData,
  filePersonalData,
  notificationPersonalData,
  recordPersonalData,
  looksPersonalData,
  oauthPersonalData,
  accessPersonalData,
  jobPersonalData,
  eventPersonalData,
  requestPersonalData,
  operationsPersonalData,
  auditPersonalData,
];
