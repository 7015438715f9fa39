import { refusedInput } from "../shared/api.ts";
import { commonTexts } from "../shared/common_texts.ts";
import { defineTexts } from "../shared/languages.ts";
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

/** Names of the periods that are relative to the time of the visit, in the parameter `range`. */
export const RANGES = ["hour", "today", "yesterday", "week"] as const;
export type RangeName = typeof RANGES[number];
export const rangeLabels = defineTexts({
  hour: ["Last hour", "Última hora"],
  today: ["Today", "Hoje"],
  yesterday: ["Yesterday", "Ontem"],
  week: ["This week", "Esta semana"],
});

/** The period that `range` names, or that the `date` inputs `from` and `to` select, in the viewer's time zone. */
export function periodOf(v: Visit): { fromDate: string | undefined; toDate: string | undefined } {
  const range = RANGES.find((name) => name === v.query.get("range"));
  if (range) return rangeOf(v, range);
  return {
    fromDate: instantOf(v, v.query.get("from") ?? ""),
    toDate: instantOf(v, v.query.get("to") ?? "", true),
  };
}

function rangeOf(v: Pick<Visit, "now" | "timeZone">, name: RangeName): ReturnType<typeof periodOf> {
  const now = Temporal.Instant.fromEpochMilliseconds(v.now.getTime());
  if (name === "hour") return { fromDate: now.subtract({ hours: 1 }).toString(), toDate: undefined };
  const today = now.toZonedDateTimeISO(v.timeZone).toPlainDate();
  const days = { today: 0, yesterday: 1, week: today.dayOfWeek - 1 }[name];
  const first = today.subtract({ days }).toString();
  return {
    fromDate: instantOf(v, first),
    toDate: name === "yesterday" ? instantOf(v, first, true) : undefined,
  };
}
