import { SelectField, TextArea, TextField } from "../components/forms.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import type { Visit } from "../shared/page.ts";
import { type ArgField, nameOf, type Typed, WHOLE } from "./args_form.ts";
import { jobTexts } from "./texts.ts";

/** The fields of a job's arguments: one each of a flat object, else one for the whole as JSON. */
export function ArgsFields({ v, fields, typed, errors }: {
  v: Visit;
  fields: ArgField[] | null;
  typed: Typed;
  errors: Record<string, string[]>;
}) {
  const t = jobTexts[v.locale];
  if (!fields) {
    return (
      <TextArea
        label={t.args}
        name={WHOLE}
        code
        rows={8}
        value={typed[WHOLE] ?? "{}"}
        hint={t.jsonHint}
        errors={errors[WHOLE]}
      />
    );
  }
  return (
    <fieldset>
      <legend>{t.args}</legend>
      {errors[WHOLE] && <div class="error">{errors[WHOLE].join(" ")}</div>}
      {fields.map((arg) => (
        <OneArg v={v} arg={arg} value={typed[nameOf(arg)] ?? ""} errors={errors[nameOf(arg)]} />
      ))}
    </fieldset>
  );
}

function OneArg({ v, arg, value, errors }: {
  v: Visit;
  arg: ArgField;
  value: string;
  errors: string[] | undefined;
}) {
  const t = jobTexts[v.locale];
  const hints = [
    ...arg.standard === undefined ? arg.required ? [] : [t.optional] : [t.standard(arg.standard)],
    ...arg.kind === "json" ? [t.jsonHint] : [],
  ];
  const common = {
    label: arg.name,
    name: nameOf(arg),
    value,
    errors,
    required: arg.required && arg.kind !== "json",
    ...hints.length > 0 ? { hint: hints.join(" · ") } : {},
  };
  switch (arg.kind) {
    case "json":
      return <TextArea {...common} code rows={3} />;
    case "choice":
      return (
        <SelectField
          {...common}
          {...arg.required ? {} : { any: "–" }}
          choices={arg.choices.map((choice) => ({ value: choice, label: choice }))}
        />
      );
    case "yesNo": {
      const { yes, no } = commonTexts[v.locale];
      const choices = [{ value: "true", label: yes }, { value: "false", label: no }];
      return <SelectField {...common} {...arg.required ? {} : { any: "–" }} choices={choices} />;
    }
    case "text":
      return arg.isLong
        ? <TextArea {...common} rows={2} />
        : <TextField {...common} {...arg.maxLength ? { maxlength: arg.maxLength } : {}} />;
    default:
      return (
        <TextField
          {...common}
          type="number"
          {...arg.min === undefined ? {} : { min: arg.min }}
          {...arg.max === undefined ? {} : { max: arg.max }}
        />
      );
  }
}
