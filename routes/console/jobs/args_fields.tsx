import type { Fields } from "../components/fields.tsx";
import { Refusal } from "../shared/api.ts";
import type { Sent } from "../shared/actions.ts";
import { commonTexts } from "../shared/common_texts.ts";
import type { Visit } from "../shared/page.ts";
import { ALL_ARGS, argErrors, type ArgField, nameOf, readArgs } from "./args_form.ts";
import { jobTexts } from "./texts.ts";

/** Inputs for a job's arguments: one per property of an object, else one JSON text for all of them. */
export function ArgsFields({ f, args }: { f: Fields; args: ArgField[] | null }) {
  const t = jobTexts[f.v.locale];
  if (!args) {
    return f.area(ALL_ARGS, t.args, {
      code: true,
      rows: 8,
      hint: t.jsonHint,
      value: f.value(ALL_ARGS) || "{}",
    });
  }
  const errors = f.errorsOf(ALL_ARGS);
  return (
    <fieldset>
      <legend>{t.args}</legend>
      {errors && <div class="error">{errors.join(" ")}</div>}
      {args.map((arg) => argInput(f, arg))}
    </fieldset>
  );
}

function argInput(f: Fields, arg: ArgField) {
  const t = jobTexts[f.v.locale];
  const hints = [
    ...arg.defaultText === undefined ? arg.required ? [] : [t.optional] : [t.defaultIs(arg.defaultText)],
    ...arg.kind === "json" ? [t.jsonHint] : [],
  ];
  const more = {
    required: arg.required && arg.kind !== "json",
    ...hints.length > 0 ? { hint: hints.join(" · ") } : {},
  };
  const any = arg.required ? {} : { any: "–" };
  const name = nameOf(arg);
  const { min, max, maxLength: maxlength } = arg;
  switch (arg.kind) {
    case "json":
      return f.area(name, arg.name, { ...more, code: true, rows: 3 });
    case "choice":
      return f.select(name, arg.name, arg.choices.map((value) => ({ value, label: value })), {
        ...more,
        ...any,
      });
    case "yesNo": {
      const { yes, no } = commonTexts[f.v.locale];
      const choices = [{ value: "true", label: yes }, { value: "false", label: no }];
      return f.select(name, arg.name, choices, { ...more, ...any });
    }
    case "text":
      return arg.isLong
        ? f.area(name, arg.name, { ...more, rows: 2 })
        : f.text(name, arg.name, { ...more, maxlength });
    default:
      return f.text(name, arg.name, { ...more, type: "number", min, max });
  }
}

/** The arguments of a sent form as JSON. @throws Refusal if a text is not JSON or not a number */
export function sentArgs(v: Visit, form: FormData, args: ArgField[] | null = null): string {
  const { serializedArgs, errors } = readArgs(args, form, jobTexts[v.locale]);
  if (Object.keys(errors).length === 0) return serializedArgs;
  throw new Refusal({ status: 400, detail: Object.values(errors).flat().join(" "), errors });
}

/** A sent form, with the API's messages about the arguments at their inputs. */
export function withArgErrors(sent: Sent | null, args: ArgField[] | null): Sent | null {
  if (!sent?.refusal) return sent;
  const { serializedArgs = [], ...fields } = sent.refusal.fields;
  const refusal = sent.refusal.withFields({ ...fields, ...argErrors(args, serializedArgs) });
  return { ...sent, refusal };
}
