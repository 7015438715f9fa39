import type { Fields } from "../components/fields.tsx";
import type { Sent } from "../shared/actions.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Visit } from "../shared/page.ts";
import { choicesOf, namedChoices } from "../components/list.tsx";
import { formatChoices, methodChoices, type Parameter, type Target, type Template } from "./model.tsx";
import { parameterField } from "./request.ts";
import { reportTexts } from "./texts.ts";

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
  return (
    <>
      <fieldset>
        <legend>{t.parameters}</legend>
        {parameters.length === 0 && <p class="muted">{t.noParameters}</p>}
        <div class="pair">{parameters.map((parameter) => parameterInput(f, parameter))}</div>
      </fieldset>
      {f.select("format", t.format, formatChoices(template.supportedFormats), { required: true })}
      {deliveryFields(f, targets)}
      {parameters.length > 0 && burstFields(f, parameters)}
    </>
  );
}

/** The input of one parameter, by its type and allowed values. */
function parameterInput(f: Fields, parameter: Parameter) {
  const { name, displayName, description, valueType, required, allowedValues } = parameter;
  const { yes, no } = commonTexts[f.v.locale];
  const choices = valueType === "bool" ? [true, false] : allowedValues;
  const more = { required, hint: description };
  if (choices) {
    return f.select(
      parameterField(name),
      displayName,
      choices.map((value) => ({
        value: String(value),
        label: value === true ? yes : value === false ? no : String(value),
      })),
      { ...more, any: reportTexts[f.v.locale].notSet },
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
