import { problem } from "../../../domain/problems/problem.ts";
import { labelled } from "../components/list.tsx";
import type { Tone } from "../components/notice.tsx";
import { Badge } from "../components/values.tsx";
import { translateBuiltin } from "../shared/builtin_translations.ts";
import { orNull } from "../shared/api.ts";
import type { Locale } from "../shared/languages.ts";
import type { Answer, Row } from "../shared/operations.ts";
import type { Visit } from "../shared/page.ts";
import { DELIVERY_STATUSES, type DeliveryStatus, UNDELIVERED } from "../../../domain/reports/status.ts";
import { deliveryStatusTexts, reportDeliveryLabels, reportStatusTexts, reportTexts } from "./texts.ts";

export type Template = Row<"listReportTemplates">;
export type Parameter = Template["parameters"][number];
export type Run = Answer<"readReportExecution">;
export type Target = Row<"listReportTargets">;
export type Schedule = Answer<"readReportSchedule">;

/** In the order of the API's numbers, which start at 1. */
const FORMATS = ["PDF", "Excel", "CSV", "HTML"];
const STATUSES = ["1", "2", "3", "4", "5", "6"] as const;
const METHODS = ["1", "2", "3", "4"] as const;
const TONES: Record<StatusName, Tone> = { 1: "idle", 2: "info", 3: "ok", 4: "bad", 5: "ok", 6: "idle" };

type StatusName = typeof STATUSES[number];

export const formatName = (format: number): string => FORMATS[format - 1] ?? String(format);
export const formatChoices = (formats = [1, 2, 3, 4]) =>
  formats.map((format) => ({ value: String(format), label: formatName(format) }));
export const statusName = (status: number): StatusName => STATUSES[status - 1] ?? "1";
export const statusChoices = (locale: Locale) => labelled(STATUSES, reportStatusTexts[locale]);
export const methodLabel = (locale: Locale, method: number): string =>
  reportDeliveryLabels[locale][METHODS[method - 1] ?? "1"];
export const methodChoices = (locale: Locale) => labelled(METHODS, reportDeliveryLabels[locale]);

export const toneOf = (status: number): Tone => TONES[statusName(status)];

/** A run's status as a coloured label. */
const RunStatusBadge = ({ locale, status }: { locale: Locale; status: number }) => (
  <Badge tone={toneOf(status)}>{reportStatusTexts[locale][statusName(status)]}</Badge>
);

const DELIVERY_TONES: Record<DeliveryStatus, Tone> = {
  Pending: "info",
  Delivered: "ok",
  Partly: "warn",
  Failed: "bad",
};
/** The choices of the filter for delivery statuses; the last one selects two of them. */
export const deliveryStatusChoices = (locale: Locale) => [
  ...labelled(DELIVERY_STATUSES, deliveryStatusTexts[locale]),
  { value: UNDELIVERED.join(), label: reportTexts[locale].undelivered },
];
export const deliveryToneOf = (status: DeliveryStatus): Tone => DELIVERY_TONES[status];

/** A run's status and, unless the status says it, whether its document was delivered. */
export const RunBadges = (
  { locale, status, deliveryStatus }: { locale: Locale } & Pick<Run, "status" | "deliveryStatus">,
) => (
  <>
    <RunStatusBadge locale={locale} status={status} />
    {deliveryStatus !== null && deliveryStatus !== "Delivered" && (
      <Badge tone={DELIVERY_TONES[deliveryStatus]}>{deliveryStatusTexts[locale][deliveryStatus]}</Badge>
    )}
  </>
);

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
