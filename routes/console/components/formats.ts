import { CURRENCY, type Member, type ValueFormat } from "../../../domain/records/members.ts";
import { formatter } from "../../../domain/shared/formatters.ts";
import { FORMAT_TAGS } from "../shared/languages.ts";
import type { Visit } from "../shared/page.ts";
import { bytes, duration } from "./values.tsx";

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
export function unitOf(format: ValueFormat): string | null {
  if (typeof format === "object") return CURRENCY.test(format.currency) ? format.currency : null;
  return { number: null, percent: "%", bytes: "bytes", duration: "ms" }[format];
}
