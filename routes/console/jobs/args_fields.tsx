import { SelectField, TextArea, TextField } from "../components/forms.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import type { Visit } from "../shared/page.ts";
import { ALL_ARGS, type ArgField, nameOf, type Typed } from "./args_form.ts";
import { jobTexts } from "./texts.ts";

/** Inputs for a job's arguments: one per property of an object, else one JSON text for all of them. */
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
        name={ALL_ARGS}
        code
        rows={8}
        value={typed[ALL_ARGS] ?? "{}"}
        hint={t.jsonHint}
        errors={errors[ALL_ARGS]}
      />
    );
  }
  return (
    <fieldset>
      <legend>{t.args}</legend>
      {errors[ALL_ARGS] && <div class="error">{errors[ALL_ARGS].join(" ")}</div>}
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
    ...arg.defaultText === undefined ? arg.required ? [] : [t.optional] : [t.defaultIs(arg.defaultText)],
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
