import type { DeliveryOptions } from "../../../domain/reports/delivery/options.ts";
import type { Burst } from "../../../domain/reports/generation/request_report.ts";
import { instantOf, localOf } from "../components/date_inputs.ts";
import type { Fields } from "../components/fields.tsx";
import { choicesOf, namedChoices } from "../components/list.tsx";
import type { Sent } from "../shared/actions.ts";
import { field, optionalField, type Visit } from "../shared/page.ts";
import {
  formatChoices,
  methodChoices,
  type Parameter,
  type Schedule,
  type Target,
  type Template,
} from "./model.tsx";
import { reportTexts } from "./texts.ts";

const parameterField = (name: string): string => `p.${name}`;

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
    return { value: valueOf(v, parameter, value), recipients: bar < 0 ? [] : lines(line.slice(bar + 1)) };
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

const INPUT_TYPES: Record<string, "number" | "date" | "datetime-local"> = {
  int: "number",
  decimal: "number",
  date: "date",
  datetime: "datetime-local",
};

/** A sent form, with the API's messages about parameters, delivery and bursting at their inputs. */
export function atInputs(v: Visit, sent: Sent | null): Sent | null {
  if (!sent?.refusal) return sent;
  const fields: Record<string, string[]> = {};
  for (const [name, messages] of Object.entries(sent.refusal.fields)) {
    const line = /^burst\.items\.(\d+)/.exec(name)?.[1];
    const place = line && reportTexts[v.locale].burstLine(Number(line) + 1);
    const shown = place ? messages.map((message) => `${place}: ${message}.`) : messages;
    (fields[inputOf(name)] ??= []).push(...shown);
  }
  return { ...sent, refusal: sent.refusal.withFields(fields) };
}

/** The input for a field of the API: `parameters.from` is in `p.from`, `delivery.recipients.0` in `recipients`. */
function inputOf(name: string): string {
  const [part, inner = ""] = name.split(".");
  if (part === "parameters") return parameterField(inner);
  if (part === "delivery" && inner) return inner;
  if (part === "burst") return inner === "items" ? "burstLines" : "burstParameter";
  return name;
}

/** Inputs for parameters, format, delivery and bursting. `readRequest` reads them. */
export function requestFields(f: Fields, template: Template, targets: Target[]) {
  const t = reportTexts[f.v.locale];
  const { parameters } = template;
  return [
    <fieldset>
      <legend>{t.parameters}</legend>
      {parameters.length === 0 && <p class="muted">{t.noParameters}</p>}
      <div class="pair">{parameters.map((parameter) => parameterInput(f, parameter))}</div>
    </fieldset>,
    f.select("format", t.format, formatChoices(template.supportedFormats), { required: true }),
    deliveryFields(f, targets),
    parameters.length > 0 && burstFields(f, parameters),
  ];
}

/** The input of one parameter, by its type and allowed values. */
function parameterInput(f: Fields, parameter: Parameter) {
  const { name, displayName, description, valueType, required, allowedValues } = parameter;
  const t = reportTexts[f.v.locale];
  const choices = valueType === "bool" ? [true, false] : allowedValues;
  const more = { required, hint: description };
  if (choices) {
    return f.select(
      parameterField(name),
      displayName,
      choices.map((value) => ({
        value: String(value),
        label: value === true ? t.yes : value === false ? t.no : String(value),
      })),
      { ...more, any: t.notSet },
    );
  }
  const type = INPUT_TYPES[valueType];
  return f.text(parameterField(name), displayName, { ...more, ...type && { type } });
}

/** Delivery inputs. CSS shows only those of the chosen method. */
export function deliveryFields(f: Fields, targets: Target[]) {
  const t = reportTexts[f.v.locale];
  const ofKind = (kind: Target["kind"]) => namedChoices(targets.filter((target) => target.kind === kind));
  const [buckets, chats] = [ofKind("s3"), ofKind("slack")];
  return (
    <fieldset class="by-choice">
      <legend>{t.delivery}</legend>
      {f.select("method", t.method, methodChoices(f.v.locale))}
      <div class="when-2">
        {f.area("recipients", t.recipients, { rows: 3, hint: t.recipientsHint })}
        {f.text("emailSubject", t.subject, { maxlength: 500 })}
        {f.area("emailBody", t.emailBody, { rows: 3 })}
      </div>
      <div class="when-3">
        {buckets.length > 0 && f.select("bucketId", t.bucketTarget, buckets, { any: t.ownStorage })}
        {f.text("targetPath", t.targetPath, { maxlength: 500, hint: t.targetPathHint })}
      </div>
      <div class="when-4">
        {chats.length > 0 && f.select("chatId", t.chatTarget, chats, { any: t.urlBelow })}
        {f.text("webhookUrl", t.webhookUrl, { type: "url", maxlength: 2000 })}
        {f.select("webhookFormat", t.webhookFormat, choicesOf({ standard: t.signed, slack: t.slackMessage }))}
      </div>
    </fieldset>
  );
}

function burstFields(f: Fields, parameters: Parameter[]) {
  const t = reportTexts[f.v.locale];
  const choices = parameters.map(({ name, displayName }) => ({ value: name, label: displayName }));
  return (
    <details class="disclosure" open={f.value("burstParameter") !== ""}>
      <summary>{t.burst}</summary>
      <div class="stack">
        {f.select("burstParameter", t.burstParameter, choices, { any: t.noBurst })}
        {f.area("burstLines", t.burstLines, { rows: 4, hint: t.burstLinesHint })}
      </div>
    </details>
  );
}
