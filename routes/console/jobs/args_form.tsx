import type { Fields } from "../components/fields.tsx";
import { choicesOf } from "../components/list.tsx";
import type { Sent } from "../shared/actions.ts";
import { Refusal } from "../shared/api.ts";
import { field, jsonIn, type Visit } from "../shared/page.ts";
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
    arg.defaultText !== undefined ? t.defaultIs(arg.defaultText) : !arg.required && t.optional,
    arg.kind === "json" && t.jsonHint,
  ];
  const more = { required: arg.required && arg.kind !== "json", hint: hints.filter(Boolean).join(" · ") };
  const name = nameOf(arg);
  const { min, max, maxLength: maxlength } = arg;
  switch (arg.kind) {
    case "json":
      return f.area(name, arg.name, { ...more, code: true, rows: 3 });
    case "choice":
    case "yesNo": {
      const choices = arg.kind === "yesNo"
        ? choicesOf({ true: t.yes, false: t.no })
        : arg.choices.map((value) => ({ value, label: value }));
      return f.select(name, arg.name, choices, { ...more, ...arg.required ? {} : { any: "–" } });
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

/** The parts of a JSON Schema that the form uses. */
export interface ArgsSchema {
  type?: unknown;
  properties?: Record<string, Record<string, unknown>>;
  required?: string[];
}

/** One property of a job's arguments, as a form field. */
export interface ArgField {
  name: string;
  kind: "text" | "integer" | "number" | "yesNo" | "choice" | "json";
  required: boolean;
  choices: string[];
  min: number | undefined;
  max: number | undefined;
  maxLength: number | undefined;
  /** True for a multi-line text. */
  isLong: boolean;
  /** Default value as text. */
  defaultText: string | undefined;
}

/** Name of the field that holds all arguments as JSON if they are not an object. */
const ALL_ARGS = "args";
const nameOf = (arg: ArgField): string => `arg.${arg.name}`;

/** The form fields of an object schema. Null for any other schema: its arguments are entered as one JSON text. */
export function fieldsOf({ type, properties, required = [] }: ArgsSchema): ArgField[] | null {
  if (type !== "object" || !properties) return null;
  return Object.entries(properties).map(([name, schema]) => fieldOf(name, schema, required.includes(name)));
}

/** The form fields of the arguments of a job type; null if they are one JSON text, or the viewer cannot enqueue the type. */
export async function argsOf(v: Visit, jobTypeName: string): Promise<ArgField[] | null> {
  const type = (await v.api.call("listJobTypes")).find(({ name }) => name === jobTypeName);
  return type ? fieldsOf(type.argsSchema) : null;
}

function fieldOf(name: string, given: Record<string, unknown>, required: boolean): ArgField {
  const schema = withoutNull(given);
  const size = (key: string): number | undefined => {
    const value = schema[key];
    return typeof value === "number" && Number.isFinite(value) ? value : undefined;
  };
  const choices = Array.isArray(schema.enum) ? schema.enum.filter((value) => typeof value === "string") : [];
  const maxLength = size("maxLength");
  const { default: initial } = given;
  return {
    name,
    kind: choices.length > 0 ? "choice" : KINDS[String(schema.type)] ?? "json",
    required,
    choices,
    isLong: (maxLength ?? 0) > 500 && schema.format === undefined,
    min: size("minimum"),
    max: size("maximum"),
    maxLength,
    defaultText: initial === undefined || typeof initial === "string" ? initial : JSON.stringify(initial),
  };
}

const KINDS: Record<string, ArgField["kind"]> = {
  string: "text",
  integer: "integer",
  number: "number",
  boolean: "yesNo",
};

/** Removes "or null" from a schema. An empty field leaves the property out. */
function withoutNull(schema: Record<string, unknown>): Record<string, unknown> {
  const types = Array.isArray(schema.type) ? schema.type.filter((type) => type !== "null") : [];
  if (types.length === 1) return { ...schema, type: types[0] };
  const parts = Array.isArray(schema.anyOf) ? schema.anyOf.filter((part) => part?.type !== "null") : [];
  return parts.length === 1 ? { ...parts[0] } : schema;
}

/** The text of each field for existing arguments, by field name. */
export function typedOf(fields: ArgField[] | null, serializedArgs: string): Record<string, string> {
  const args = jsonIn(serializedArgs);
  if (args === undefined) return { [ALL_ARGS]: serializedArgs };
  if (!fields) return { [ALL_ARGS]: JSON.stringify(args, null, 2) };
  const values = args as Record<string, unknown> | null;
  return Object.fromEntries(fields.map((arg) => {
    const value = values?.[arg.name];
    if (value === undefined || value === null) return [nameOf(arg), ""];
    const isPlain = arg.kind !== "json" && typeof value !== "object";
    return [nameOf(arg), isPlain ? String(value) : JSON.stringify(value, null, 2)];
  }));
}

/**
 * Reads the arguments from a form. The API checks them against the job type's schema.
 * @returns the arguments as JSON, and errors by field.
 */
export function readArgs(
  fields: ArgField[] | null,
  form: FormData,
  texts: { notJson: string; notNumber: string },
): { serializedArgs: string; errors: Record<string, string[]> } {
  if (!fields) {
    const text = field(form, ALL_ARGS) || "{}";
    return { serializedArgs: text, errors: isJson(text) ? {} : { [ALL_ARGS]: [texts.notJson] } };
  }
  const errors: Record<string, string[]> = {};
  const args: Record<string, unknown> = {};
  for (const arg of fields) {
    const text = String(form.get(nameOf(arg)) ?? "");
    if (text.trim() === "") {
      if (arg.required && arg.kind === "text") args[arg.name] = text;
      continue;
    }
    if (arg.kind === "text" || arg.kind === "choice") args[arg.name] = text;
    else if (arg.kind === "yesNo") args[arg.name] = text === "true";
    else if (arg.kind === "json") {
      if (isJson(text)) args[arg.name] = jsonIn(text);
      else errors[nameOf(arg)] = [texts.notJson];
    } else if (Number.isFinite(Number(text))) args[arg.name] = jsonIn(text) ?? Number(text);
    else errors[nameOf(arg)] = [texts.notNumber];
  }
  return { serializedArgs: JSON.stringify(args), errors };
}

/** Assigns the API's messages about arguments ("name: message") to form fields. */
export function argErrors(fields: ArgField[] | null, messages: string[]): Record<string, string[]> {
  const errors: Record<string, string[]> = {};
  for (const message of messages) {
    const [, name, rest] = /^([^:.\s]+)(?:\.[^:]*)?: (.*)$/s.exec(message) ?? [];
    const arg = fields?.find((candidate) => candidate.name === name);
    const at = arg ? nameOf(arg) : ALL_ARGS;
    (errors[at] ??= []).push(arg ? rest ?? message : message);
  }
  return errors;
}

const isJson = (text: string): boolean => jsonIn(text) !== undefined;
