import { problem } from "../../../domain/problems/problem.ts";
import { labelled } from "../components/list.tsx";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import { orNull } from "../shared/api.ts";
import type { Locale } from "../shared/languages.ts";
import type { Answer, Row } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import { DELIVERY_STATUSES, type DeliveryStatus, UNDELIVERED } from "../../../domain/reports/status.ts";
import { reportDeliveryLabels, reportTexts } from "./texts.ts";
import { defineStates } from "../components/states.tsx";

export type Template = Row<"listReportTemplates">;
export type Parameter = Template["parameters"][number];
export type Run = Answer<"readReportExecution">;
export type Target = Row<"listReportTargets">;
export type Schedule = Answer<"readReportSchedule">;

/** In the order of the API's numbers, which start at 1. */
const FORMATS = ["PDF", "Excel", "CSV", "HTML"];
const STATUSES = ["1", "2", "3", "4", "5", "6"] as const;
const METHODS = ["1", "2", "3", "4"] as const;

type StatusName = typeof STATUSES[number];

export const formatName = (format: number): string => FORMATS[format - 1] ?? String(format);
export const formatChoices = (formats = [1, 2, 3, 4]) =>
  formats.map((format) => ({ value: String(format), label: formatName(format) }));
export const statusName = (status: number): StatusName => STATUSES[status - 1] ?? "1";
export const methodLabel = (locale: Locale, method: number): string =>
  reportDeliveryLabels[locale][METHODS[method - 1] ?? "1"];
export const methodChoices = (locale: Locale) => labelled(METHODS, reportDeliveryLabels[locale]);

export const runStates = defineStates<StatusName>({
  1: ["idle", "Queued", "Na fila"],
  2: ["info", "Generating", "Gerando"],
  3: ["ok", "Completed", "Concluído"],
  4: ["bad", "Failed", "Falhou"],
  5: ["ok", "Delivered", "Entregue"],
  6: ["idle", "Cancelled", "Cancelado"],
});

export const deliveryStates = defineStates<DeliveryStatus>({
  Pending: ["info", "Delivering", "Entregando"],
  Delivered: ["ok", "Delivered", "Entregue"],
  Partly: ["warn", "Partly delivered", "Entregue em parte"],
  Failed: ["bad", "Not delivered", "Não entregue"],
});

/** The choices of the filter for delivery statuses; the last one selects two of them. */
export const deliveryStatusChoices = (v: Visit) => [
  ...deliveryStates.choices(v, DELIVERY_STATUSES),
  { value: UNDELIVERED.join(), label: reportTexts[v.locale].undelivered },
];

/** A run's status and, unless the status says it, whether its document was delivered. */
export const runBadges = (v: Visit, status: number, deliveryStatus: DeliveryStatus | null) => (
  <>
    {runBadge(v, status)}
    {deliveryBadge(v, deliveryStatus)}
  </>
);

export const runBadge = (v: Visit, status: number) => runStates.badge(v, statusName(status));

/** The state of the deliveries of a run; on a page, only if it is not as expected. */
export const deliveryBadge = (v: Visit, status: DeliveryStatus | null) =>
  status !== null && (v.collect || status !== "Delivered") && deliveryStates.badge(v, status);

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
