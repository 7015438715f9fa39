import { z } from "zod";
import { labelIn, nameInWords } from "../../../domain/records/labels.ts";
import {
  coreOf,
  CURRENCY,
  type Member,
  type RecordMember,
  type ValueFormat,
} from "../../../domain/records/members.ts";
import type { DefinedRecord } from "../../../domain/records/record_type.ts";
import { formatter } from "../../../domain/shared/formatters.ts";
import type { Fields } from "../components/fields.tsx";
import type { Choice } from "../components/forms.tsx";
import { bytes, duration } from "../components/values.tsx";
import { commonTexts } from "../shared/common_texts.ts";
import { jsonIn, typedText, type Visit } from "../shared/page.ts";
import { FORMAT_TAGS, type Locale } from "../shared/languages.ts";

/** A row of a record, as the API answers it. */
export type RecordRow = Record<string, unknown> & { id: string; createdAt: string; updatedAt: string };

/** The rows that references may name, by the plural of their record; absent: too many for a drop-down list. */
export type ReferenceChoices = ReadonlyMap<string, Choice[]>;

export const manyOf = ({ many, labels }: DefinedRecord, language: string): string =>
  labelIn(labels.many ?? nameInWords(many), language);

export const oneOf = ({ one, labels }: DefinedRecord, language: string): string =>
  labelIn(labels.one ?? nameInWords(one), language);

export const labelOf = ({ name, label }: RecordMember, language: string): string =>
  labelIn(label ?? nameInWords(name), language);

/** The label with the unit of the plain value: "Amount (EUR)". */
export function labelWithUnit(member: RecordMember, language: string): string {
  const format = valueFormat(member);
  const unit = format && unitOf(format);
  return unit ? `${labelOf(member, language)} (${unit})` : labelOf(member, language);
}

/** The name of a value of a boolean or choice. */
export function valueLabel({ kind, values }: RecordMember, value: string, locale: Locale): string {
  const label = values?.[value]?.label;
  if (label !== undefined) return labelIn(label, locale);
  if (kind !== "boolean") return nameInWords(value);
  return value === "true" ? commonTexts[locale].yes : commonTexts[locale].no;
}

/** The choices of a member for a drop-down list; null if its values cannot be listed. */
export function choicesOf(member: RecordMember, locale: Locale, choices: ReferenceChoices): Choice[] | null {
  if (member.refersTo !== null) return choices.get(member.refersTo) ?? null;
  const values = member.kind === "boolean" ? ["true", "false"] : member.choices;
  if (values.length === 0) return null;
  return values.map((value) => ({ value, label: valueLabel(member, value, locale) }));
}

/** The input of a member. */
export function inputOf(f: Fields, member: RecordMember, choices: ReferenceChoices) {
  const { name, kind, isNullable, format } = member;
  const { locale } = f.v;
  const label = labelWithUnit(member, locale);
  const hint = member.hint && labelIn(member.hint, locale);
  if (kind === "boolean" && !isNullable) return f.check(name, label, hint);
  const listed = choicesOf(member, locale, choices);
  if (listed) {
    const mayBeEmpty = isNullable || f.value(name) === "";
    const required = f.operation && !isNullable ? { required: true } : {};
    return f.select(name, label, listed, { hint, ...required, ...mayBeEmpty ? { any: "–" } : {} });
  }
  if (kind === "json" || kind === "long text") {
    return f.area(name, label, {
      rows: format === "code" ? 6 : 3,
      code: kind === "json" || format === "code",
      hint,
    });
  }
  return f.text(name, label, { hint, type: inputType(member) });
}

function inputType({ kind, format, shape }: RecordMember): "date" | "email" | "url" | "text" {
  if (kind === "date") return "date";
  if (format === "mail" || coreOf(shape) instanceof z.ZodEmail) return "email";
  return format === "link" ? "url" : "text";
}

/** The values of a row as its form shows them. */
export const valuesOf = (row: RecordRow, members: readonly RecordMember[]): Record<string, unknown> =>
  Object.fromEntries(members.map(({ name, kind, isNullable }) => {
    const value = row[name];
    const isText = kind === "json" || (kind === "boolean" && isNullable);
    return [name, value === null ? "" : isText ? JSON.stringify(value, null, 2) : value];
  }));

/** The body of a request. An empty input is null, or left out if the member cannot be null and is no text. */
export const bodyOf = (form: FormData, members: readonly RecordMember[]): Record<string, unknown> =>
  Object.fromEntries(members.flatMap((member) => {
    const { name, kind, isNullable } = member;
    if (kind === "boolean" && !isNullable) return [[name, form.get(name) === "true"]];
    // Not trimmed: leading and trailing spaces may matter, and the API trims where they do not.
    const text = typedText(form, name);
    if (text !== "") return [[name, valueIn(text, member)]];
    if (isNullable) return [[name, null]];
    return kind === "text" || kind === "long text" ? [[name, ""]] : [];
  }));

/** The value of a text that was entered. The API refuses what is not of its kind. */
function valueIn(text: string, { kind }: RecordMember): unknown {
  if (kind === "number") return Number.isNaN(Number(text)) ? text : jsonIn(text) ?? Number(text);
  return kind === "json" || kind === "boolean" ? jsonIn(text) ?? text : text;
}

/**
 * A number in the viewer's language, with all its digits. A text that is no number stays as it is.
 * @param row has the currency, if the format names a member
 */
export function formatted(
  v: Pick<Visit, "locale">,
  value: unknown,
  format: ValueFormat,
  row: Record<string, unknown> = {},
): string {
  const text = String(value);
  if (text === "" || !Number.isFinite(Number(text))) return text;
  if (format === "bytes") return bytes(v, Number(text));
  if (format === "duration") return duration(v, Number(text));
  const show = (options: Intl.NumberFormatOptions) =>
    formatter(Intl.NumberFormat, FORMAT_TAGS[v.locale], { maximumFractionDigits: 20, ...options })
      .format(text as `${number}`);
  if (format === "number") return show({});
  if (format === "percent") return show({ style: "unit", unit: "percent" });
  const currency = CURRENCY.test(format.currency) ? format.currency : String(row[format.currency] ?? "");
  return CURRENCY.test(currency) ? show({ style: "currency", currency }) : `${show({})} ${currency}`.trim();
}

/** The format of a member that is a number; null: it has none. */
export const valueFormat = ({ format }: Pick<Member, "format">): ValueFormat | null =>
  !format || format === "code" || format === "link" || format === "mail" ? null : format;

/** The unit in which a number is entered and written to CSV; null if it has none, or if it depends on the row. */
function unitOf(format: ValueFormat): string | null {
  if (typeof format === "object") return CURRENCY.test(format.currency) ? format.currency : null;
  return { number: null, percent: "%", bytes: "bytes", duration: "ms" }[format];
}
