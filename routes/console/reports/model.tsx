import { problem } from "../../../domain/problems/problem.ts";
import { labelled } from "../components/list.tsx";
import { translateBuiltin } from "../shared/translations.ts";
import { type Api, orNull } from "../shared/api.ts";
import type { Locale } from "../shared/languages.ts";
import type { Answer, Row } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import {
  type DeliveryStatus,
  type ReportStatus,
  STATUS,
  UNDELIVERED,
} from "../../../domain/reports/status.ts";
import { reportDeliveryLabels, reportTexts } from "./texts.ts";
import { defineStates } from "../components/states.tsx";

export type Template = Row<"listReportTemplates">;
export type Parameter = Template["parameters"][number];
export type Run = Answer<"readReportExecution">;
export type Target = Row<"listReportTargets">;
export type Schedule = Answer<"readReportSchedule">;

/** A choice of the filter for states, with which the overview leads here. */
export const UNDELIVERED_RUNS = "Undelivered";

/** In the order of the API's numbers, which start at 1. */
const FORMATS = ["PDF", "Excel", "CSV", "HTML"];
const METHODS = ["1", "2", "3", "4"] as const;

export const formatName = (format: number): string => FORMATS[format - 1] ?? String(format);
export const formatChoices = (formats = [1, 2, 3, 4]) =>
  formats.map((format) => ({ value: String(format), label: formatName(format) }));
export const methodLabel = (locale: Locale, method: number): string =>
  reportDeliveryLabels[locale][METHODS[method - 1] ?? "1"];
export const methodChoices = (locale: Locale) => labelled(METHODS, reportDeliveryLabels[locale]);

/** The states of a run as a person sees them: the status of the document and that of its delivery are one. */
export const runStates = defineStates({
  Waiting: ["idle", "Waiting", "Esperando"],
  Running: ["info", "Running", "Em execução"],
  Ready: ["ok", "Ready", "Pronto"],
  Delivering: ["info", "Delivering", "Entregando"],
  Delivered: ["ok", "Delivered", "Entregue"],
  PartlyDelivered: ["warn", "Partly delivered", "Entregue em parte"],
  DeliveryFailed: ["bad", "Delivery failed", "A entrega falhou"],
  Failed: ["bad", "Failed", "Falhou"],
  Cancelled: ["idle", "Cancelled", "Cancelado"],
});
export type RunState = keyof typeof runStates.labels.en;

const OF_DOCUMENT: Record<ReportStatus, RunState> = {
  [STATUS.Queued]: "Waiting",
  [STATUS.Generating]: "Running",
  [STATUS.Completed]: "Ready",
  [STATUS.Failed]: "Failed",
  [STATUS.Delivered]: "Delivered",
  [STATUS.Cancelled]: "Cancelled",
};
const OF_DELIVERY: Record<DeliveryStatus, RunState> = {
  Pending: "Delivering",
  Delivered: "Delivered",
  Partly: "PartlyDelivered",
  Failed: "DeliveryFailed",
};

/** The state of a run, from the API's number of its status and the status of its delivery. */
export const runState = (
  { status, deliveryStatus }: { status: number; deliveryStatus: DeliveryStatus | null },
): RunState =>
  status === STATUS.Completed && deliveryStatus !== null
    ? OF_DELIVERY[deliveryStatus]
    : OF_DOCUMENT[status as ReportStatus];

/** The filters of the API that find the runs in a state; `Undelivered` has two states. */
const FILTERS: Record<string, { status?: number; deliveryStatus?: string }> = {
  Waiting: { status: STATUS.Queued },
  Running: { status: STATUS.Generating },
  Delivering: { deliveryStatus: "Pending" },
  Delivered: { deliveryStatus: "Delivered" },
  [UNDELIVERED_RUNS]: { deliveryStatus: UNDELIVERED.join() },
  Failed: { status: STATUS.Failed },
  Cancelled: { status: STATUS.Cancelled },
};
export const runFilterOf = (state: string | null) =>
  state !== null && Object.hasOwn(FILTERS, state) ? FILTERS[state] : undefined;
/** The choices of the filter for states. */
export const stateChoices = ({ locale }: Visit) =>
  Object.keys(FILTERS).map((value) => ({
    value,
    label: value === UNDELIVERED_RUNS
      ? reportTexts[locale].undelivered
      : runStates.labels[locale][value as RunState],
  }));

/** The title of a run: the name of its schedule, else that of its report. */
export const runTitle = ({ locale }: Visit, reportName: string, schedule: string | undefined): string =>
  schedule ?? translateBuiltin(locale, reportName);

/** Reads the name of the schedule of a run; undefined if it has none, or the viewer may not see it. */
export async function scheduleOf(
  api: Api,
  { scheduleId }: Pick<Run, "scheduleId">,
): Promise<string | undefined> {
  const schedule = scheduleId && await orNull(api.call("readReportSchedule", { params: { id: scheduleId } }));
  return schedule ? schedule.name : undefined;
}

/** True if the run is queued or generating. */
export const isMoving = ({ status }: Pick<Run, "status">): boolean => status <= 2;

/** The reports whose data the viewer may see, in the viewer's language. */
export async function readTemplates(v: Visit): Promise<Template[]> {
  const translate = <T extends { displayName: string; description: string | null }>(each: T): T => ({
    ...each,
    displayName: translateBuiltin(v.locale, each.displayName),
    description: translateBuiltin(v.locale, each.description),
  });
  const templates = await v.api.call("listReportTemplates");
  return templates.map((each) => ({ ...translate(each), parameters: each.parameters.map(translate) }));
}

/** The targets of the viewer's tenant; none without a tenant. */
export async function readTargets(v: Visit): Promise<Target[]> {
  const page = await orNull(v.api.call("listReportTargets", { query: { pageSize: 100 } }));
  return page?.items ?? [];
}

/** @throws Problem 404 if the template does not exist or the viewer may not use it. */
export async function readTemplate(v: Visit, templateId = ""): Promise<Template> {
  const template = (await readTemplates(v)).find((each) => each.templateId === templateId);
  if (template) return template;
  throw problem("REPORT_TEMPLATE_NOT_FOUND", `No report ${templateId}`);
}

export const templateChoices = (templates: Template[]) =>
  templates.map(({ templateId, displayName }) => ({ value: templateId, label: displayName }));

/** The name of a template; its id if the viewer may not use it. */
export const nameIn = (templates: Template[], templateId: string): string =>
  templates.find((each) => each.templateId === templateId)?.displayName ?? templateId;
