import { refusedInput } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { field, type Visit } from "../shared/page.ts";

/**
 * Converts the value of a `date` or `datetime-local` input from the viewer's time zone to an ISO 8601 instant. Returns
 * undefined if it is empty or invalid. A time in a skipped daylight-saving hour moves one hour later.
 * @param dayEnds true: a date without time means its last millisecond. A day may have a repeated hour at its end.
 */
export function instantOf(v: Pick<Visit, "timeZone">, local: string, dayEnds = false): string | undefined {
  try {
    const isDay = /^\d{4}-\d{2}-\d{2}$/.test(local);
    if (!isDay) return Temporal.PlainDateTime.from(local).toZonedDateTime(v.timeZone).toInstant().toString();
    const day = Temporal.PlainDate.from(local);
    const last = day.add({ days: 1 }).toZonedDateTime(v.timeZone).subtract({ milliseconds: 1 });
    return (dayEnds ? last : day.toZonedDateTime(v.timeZone)).toInstant().toString();
  } catch {
    return undefined;
  }
}

/**
 * The instant in an input of a form; undefined if it is empty.
 * @throws Refusal for a text that is not a time: it must not count as empty
 */
export function timeIn(v: Visit, form: FormData, name: string): string | undefined {
  const text = field(form, name);
  const instant = instantOf(v, text);
  if (text !== "" && !instant) throw refusedInput(name, commonTexts[v.locale].badTime);
  return instant;
}

/** Converts an instant to the value of a `datetime-local` input, in the viewer's time zone. */
export const localOf = (v: Pick<Visit, "timeZone">, instant: string): string =>
  Temporal.Instant.from(instant).toZonedDateTimeISO(v.timeZone).toPlainDateTime()
    .toString({ smallestUnit: "minute" });

/** The period that the `date` inputs `from` and `to` of a list's filters select. */
export const periodOf = (v: Visit): { fromDate: string | undefined; toDate: string | undefined } => ({
  fromDate: instantOf(v, v.query.get("from") ?? ""),
  toDate: instantOf(v, v.query.get("to") ?? "", true),
});
