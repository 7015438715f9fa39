import { instantOf, localOf } from "../components/date_inputs.ts";
import type { Burst } from "../../../domain/reports/generation/request_report.ts";
import type { DeliveryOptions } from "../../../domain/reports/delivery/options.ts";
import { field, optionalField, type Visit } from "../shared/page.ts";
import type { Parameter, Schedule, Template } from "./model.tsx";

/** Form field name of a parameter. */
export const parameterField = (name: string): string => `p.${name}`;

/** Reads the inputs of `requestFields`. Empty parameters are left out: the API then uses its defaults. */
export function readRequest(v: Visit, form: FormData, template: Template) {
  const parameters: Record<string, unknown> = {};
  for (const parameter of template.parameters) {
    const text = field(form, parameterField(parameter.name));
    if (text !== "") parameters[parameter.name] = valueOf(v, parameter, text);
  }
  const burst = readBurst(v, form, template);
  if (burst) delete parameters[burst.parameter]; // each burst item sets it
  return { format: Number(field(form, "format")), parameters, delivery: readDelivery(form), burst };
}

/** Converts a field's text to the parameter's type. Text that does not fit is sent unchanged: the API reports the error. */
function valueOf(v: Visit, { valueType }: Parameter, text: string): string | number | boolean {
  if (valueType === "bool" && (text === "true" || text === "false")) return text === "true";
  if ((valueType === "int" || valueType === "decimal") && Number.isFinite(Number(text))) return Number(text);
  if (valueType === "datetime") return instantOf(v, text) ?? text;
  return text;
}

/** Reads the inputs of `deliveryFields`; null: no delivery. */
export function readDelivery(form: FormData) {
  const method = Number(field(form, "method"));
  switch (method) {
    case 2:
      return {
        method,
        recipients: lines(field(form, "recipients")),
        emailSubject: optionalField(form, "emailSubject"),
        emailBody: optionalField(form, "emailBody"),
      };
    case 3:
      return { method, targetPath: field(form, "targetPath"), ...target(field(form, "bucketId")) };
    case 4:
      if (field(form, "chatId")) return { method, ...target(field(form, "chatId")) };
      return {
        method,
        webhookUrl: field(form, "webhookUrl"),
        ...field(form, "webhookFormat") === "slack" && { webhookFormat: "slack" },
      };
    default:
      return null;
  }
}

const target = (targetId: string) => targetId ? { targetId } : {};

function readBurst(v: Visit, form: FormData, template: Template) {
  const name = field(form, "burstParameter");
  const parameter = template.parameters.find((each) => each.name === name);
  if (!parameter) return null;
  const items = field(form, "burstLines").split(/\r?\n/).filter((line) => line.trim() !== "").map((line) => {
    const bar = line.lastIndexOf("|");
    const value = (bar < 0 ? line : line.slice(0, bar)).trim();
    return {
      value: valueOf(v, parameter, value),
      recipients: bar < 0 ? [] : lines(line.slice(bar + 1)),
    };
  });
  return { parameter: name, items };
}

const lines = (text: string): string[] =>
  text.split(/[\n,;]/).map((line) => line.trim()).filter((line) => line !== "");

/** The values of the inputs: those of a run or a schedule, else the template's defaults. */
export function valuesOf(
  v: Visit,
  { parameters, supportedFormats }: Template,
  stored: Pick<Schedule, "format" | "parametersJson"> & Partial<Schedule> | null,
): Record<string, unknown> {
  const { format = supportedFormats[0] ?? 1, parametersJson, deliveryOptionsJson, burstJson } = stored ?? {};
  const given = parametersJson && JSON.parse(parametersJson);
  const delivery: DeliveryOptions | null = deliveryOptionsJson ? JSON.parse(deliveryOptionsJson) : null;
  const burst: Burst | null = burstJson ? JSON.parse(burstJson) : null;
  const parameterOf = ({ name, valueType, defaultValue }: Parameter) => {
    const value = given ? given[name] : defaultValue;
    const isInstant = given && valueType === "datetime" && value;
    return [parameterField(name), isInstant ? localOf(v, String(value)) : value];
  };
  return {
    ...Object.fromEntries(parameters.map(parameterOf)),
    format,
    ...delivery,
    recipients: delivery?.recipients.join("\n"),
    bucketId: delivery?.targetId,
    chatId: delivery?.targetId,
    burstParameter: burst?.parameter,
    burstLines: burst?.items.map(({ value, recipients }) =>
      recipients.length > 0 ? `${value} | ${recipients.join(", ")}` : String(value)
    ).join("\n"),
  };
}
