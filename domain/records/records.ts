import { alertRules } from "./alert_rules.ts";
import { applications } from "./applications.ts";
import type { DefinedRecord } from "./record_type.ts";
import { settings } from "./settings.ts";

/** All records of the service: their routes, pages in the console, exports and tests follow from this list. */
export const RECORDS = [applications, settings, alertRules] as const satisfies readonly DefinedRecord[];
