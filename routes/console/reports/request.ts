import { instantOf, localOf } from "../components/date_inputs.ts";
import type { Refusal } from "../shared/api.ts";
import { field, type Visit } from "../shared/page.ts";
import type { Parameter, Schedule, Template } from "./model.tsx";

/** Form field name of a parameter. */
export const parameterField = (name: string): string => `p.${name}`;

/** Delivery options in the API's format. */
export interface Delivery {
  method: number;
  recipients: string[];
  emailSubject?: string | null;
  emailBody?: string | null;
  webhookUrl?: string | null;
  targetPath?: string | null;
}

/** Bursting in the API's format: one document per value of a parameter. */
export interface Burst {
  parameter: string;
  items: { value: string | number | boolean; recipients: string[] }[];
}

/** A report request from the form. Empty parameters are left out: the API then uses its defaults. */
export interface ReportRequest {
  format: number;
  parameters: Record<string, unknown>;
  delivery: Delivery | null;
  burst: Burst | null;
}

/** Reads the fields of `RequestFields`. */
export function readRequest(v: Visit, form: FormData, template: Template): ReportRequest {
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

function readDelivery(form: FormData): Delivery | null {
  const method = Number(field(form, "method"));
  if (!(method > 1)) return null;
  const recipients = lines(field(form, "recipients"));
  if (method === 2) {
    return {
      method,
      recipients,
      emailSubject: field(form, "emailSubject") || null,
      emailBody: field(form, "emailBody") || null,
    };
  }
  if (method === 3) return { method, recipients: [], targetPath: field(form, "targetPath") };
  return { method, recipients: [], webhookUrl: field(form, "webhookUrl") };
}

function readBurst(v: Visit, form: FormData, template: Template): Burst | null {
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

/** Initial form values: the template's defaults and `values`. */
export function newForm(template: Template, values: Record<string, string> = {}): FormData {
  const form = new FormData();
  for (const { name, defaultValue } of template.parameters) {
    if (defaultValue !== null) form.set(parameterField(name), String(defaultValue));
  }
  form.set("format", String(template.supportedFormats[0] ?? 1));
  for (const [name, value] of Object.entries(values)) form.set(name, value);
  return form;
}

/** Sets the parameters of a run or a schedule in `form`. */
export function setParameters(v: Visit, form: FormData, template: Template, parametersJson: string): void {
  const given = JSON.parse(parametersJson);
  for (const { name, valueType } of template.parameters) {
    const value = given[name];
    if (value === undefined || value === null) form.delete(parameterField(name));
    else form.set(parameterField(name), valueType === "datetime" ? localOf(v, String(value)) : String(value));
  }
}

/** Form values of an existing schedule. */
export function scheduleForm(v: Visit, template: Template, schedule: Schedule): FormData {
  const { name, description, cronExpression, timeZoneId, format } = schedule;
  const form = newForm(template, {
    name,
    cronExpression,
    timeZoneId,
    description: description ?? "",
    format: String(format),
  });
  setParameters(v, form, template, schedule.parametersJson);
  const delivery: Delivery | null = schedule.deliveryOptionsJson && JSON.parse(schedule.deliveryOptionsJson);
  if (delivery) {
    form.set("method", String(delivery.method));
    form.set("recipients", delivery.recipients.join("\n"));
    for (const part of ["emailSubject", "emailBody", "webhookUrl", "targetPath"] as const) {
      form.set(part, delivery[part] ?? "");
    }
  }
  const burst: Burst | null = schedule.burstJson && JSON.parse(schedule.burstJson);
  if (burst) {
    form.set("burstParameter", burst.parameter);
    form.set(
      "burstLines",
      burst.items.map(({ value, recipients }) =>
        recipients.length > 0 ? `${value} | ${recipients.join(", ")}` : String(value)
      ).join("\n"),
    );
  }
  return form;
}

/** Error messages for `field` and its sub-fields ("field.…"); undefined if there are none. */
export function errorsOf(refusal: Refusal | null, field: string): string[] | undefined {
  const messages = Object.entries(refusal?.fields ?? {})
    .filter(([name]) => name === field || name.startsWith(`${field}.`))
    .flatMap(([, messages]) => messages);
  return messages.length > 0 ? messages : undefined;
}

/** Fields of a refusal whose errors are shown beside inputs. */
export const shownFields = (refusal: Refusal | null): string[] =>
  Object.keys(refusal?.fields ?? {}).filter((name) =>
    /^(parameters\.|delivery\.|burst|format$|name$|description$|cronExpression$|timeZoneId$|when$)/.test(name)
  );
