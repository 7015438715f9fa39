import { SelectField, TextArea, TextField } from "../components/forms.tsx";
import type { Refusal } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, type Visit } from "../shared/page.ts";
import { formatName, type Parameter, type Template } from "./model.tsx";
import { errorsOf, parameterField } from "./request.ts";
import { reportDeliveryLabels, reportTexts } from "./texts.ts";

interface Fields {
  v: Visit;
  template: Template;
  form: FormData;
  refusal: Refusal | null;
}

const INPUT_TYPES: Record<string, "number" | "date" | "datetime-local"> = {
  int: "number",
  decimal: "number",
  date: "date",
  datetime: "datetime-local",
};

/** Inputs for parameters, format, delivery and bursting. `readRequest` reads them. */
export function RequestFields(props: Fields) {
  const { v, template, form, refusal } = props;
  const t = reportTexts[v.locale];
  return (
    <>
      <fieldset>
        <legend>{t.parameters}</legend>
        {template.parameters.length === 0 && <p class="muted">{t.noParameters}</p>}
        <div class="pair">
          {template.parameters.map((parameter) => <ParameterField {...props} parameter={parameter} />)}
        </div>
      </fieldset>
      <SelectField
        label={t.format}
        name="format"
        required
        value={field(form, "format")}
        choices={template.supportedFormats.map((value) => ({
          value: String(value),
          label: formatName(value),
        }))}
        errors={errorsOf(refusal, "format")}
      />
      <DeliveryFields {...props} />
      {template.parameters.length > 0 && <BurstFields {...props} />}
    </>
  );
}

/** The input of one parameter, by its type and allowed values. */
function ParameterField({ v, form, refusal, parameter }: Fields & { parameter: Parameter }) {
  const { name, displayName, description, valueType, required, allowedValues } = parameter;
  const choices = valueType === "bool" ? [true, false] : allowedValues;
  const shape = {
    label: displayName,
    name: parameterField(name),
    required,
    hint: description ?? undefined,
    value: field(form, parameterField(name)),
    errors: errorsOf(refusal, `parameters.${name}`),
  };
  if (!choices) {
    const type = INPUT_TYPES[valueType];
    return <TextField {...shape} {...type ? { type } : {}} />;
  }
  return (
    <SelectField
      {...shape}
      any={reportTexts[v.locale].notSet}
      choices={choices.map((value) => ({ value: String(value), label: choiceLabel(v, value) }))}
    />
  );
}

function choiceLabel({ locale }: Visit, value: string | number | boolean): string {
  if (typeof value !== "boolean") return String(value);
  return value ? commonTexts[locale].yes : commonTexts[locale].no;
}

/** Delivery inputs. CSS shows only those of the chosen method. */
function DeliveryFields({ v, form, refusal }: Fields) {
  const t = reportTexts[v.locale];
  const methods = reportDeliveryLabels[v.locale];
  // Name, submitted value and errors of a field.
  const sent = (name: string) => ({
    name,
    value: field(form, name),
    errors: errorsOf(refusal, `delivery.${name}`),
  });
  return (
    <fieldset class="by-choice">
      <legend>{t.delivery}</legend>
      <SelectField
        label={t.method}
        {...sent("method")}
        value={field(form, "method") || "1"}
        choices={(["1", "2", "3", "4"] as const).map((value) => ({ value, label: methods[value] }))}
      />
      <div class="when-2">
        <TextArea label={t.recipients} {...sent("recipients")} rows={3} hint={t.recipientsHint} />
        <TextField label={t.subject} {...sent("emailSubject")} maxlength={500} />
        <TextArea label={t.emailBody} {...sent("emailBody")} rows={3} />
      </div>
      <div class="when-3">
        <TextField label={t.targetPath} {...sent("targetPath")} maxlength={500} hint={t.targetPathHint} />
      </div>
      <div class="when-4">
        <TextField label={t.webhookUrl} {...sent("webhookUrl")} type="url" maxlength={2000} />
      </div>
    </fieldset>
  );
}

function BurstFields({ v, template, form, refusal }: Fields) {
  const t = reportTexts[v.locale];
  const errors = Object.entries(refusal?.fields ?? {}).filter(([name]) => name.startsWith("burst.items"))
    .flatMap(([name, messages]) => {
      const line = /^burst\.items\.(\d+)/.exec(name)?.[1];
      return messages.map((message) => line ? `${t.burstLine(Number(line) + 1)}: ${message}.` : message);
    });
  const whole = [...refusal?.fields["burst.parameter"] ?? [], ...refusal?.fields.burst ?? []];
  return (
    <details class="disclosure" open={field(form, "burstParameter") !== ""}>
      <summary>{t.burst}</summary>
      <div class="stack">
        <SelectField
          label={t.burstParameter}
          name="burstParameter"
          any={t.noBurst}
          value={field(form, "burstParameter")}
          choices={template.parameters.map(({ name, displayName }) => ({ value: name, label: displayName }))}
          errors={whole.length > 0 ? whole : undefined}
        />
        <TextArea
          label={t.burstLines}
          name="burstLines"
          rows={4}
          value={field(form, "burstLines")}
          hint={t.burstLinesHint}
          errors={errors.length > 0 ? errors : undefined}
        />
      </div>
    </details>
  );
}
