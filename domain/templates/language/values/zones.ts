import { getOrCreate } from "./cache.ts";
import { describeValue } from "./text.ts";

const zones = new Map<string, Intl.DateTimeFormat>();
const names = new Map<string, Intl.DateTimeFormat>();

/** Checks a time zone argument. @returns an error message, or null */
export function zoneProblem(zone: unknown): string | null {
  try {
    if (typeof zone === "string" && zone !== "") {
      getOrCreate(zones, zone, () => new Intl.DateTimeFormat("en", { timeZone: zone }));
      return null;
    }
  } catch {
    // Intl throws a RangeError for an unknown zone; the message below is clearer
  }
  return `expects a time zone such as "Europe/Lisbon", found ${describeValue(zone)}`;
}

/** The local time of `instant` in `zone`. `zone` must be valid according to `zoneProblem`. */
export const inZone = (instant: Date, zone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(instant.getTime()).toZonedDateTimeISO(zone);

/**
 * The name of a month, weekday or day period in the locale. Many languages inflect a month next to a day ("5 de março",
 * "5 марта"). `beside` selects that form.
 */
export function word(
  at: Temporal.ZonedDateTime,
  locale: string,
  field: "month" | "weekday" | "dayPeriod",
  width: "short" | "long",
  beside?: "day",
): string {
  const timeZone = at.timeZoneId;
  const key = `${locale}|${timeZone}|${field}|${width}|${beside ?? ""}`;
  const format = getOrCreate(names, key, () => {
    const base = { timeZone, calendar: "gregory" };
    if (field === "dayPeriod") {
      return new Intl.DateTimeFormat(locale, { ...base, hour: "numeric", hour12: true });
    }
    const day = beside === undefined ? {} : { day: "numeric" as const };
    return new Intl.DateTimeFormat(locale, { ...base, [field]: width, ...day });
  });
  return format.formatToParts(at.epochMilliseconds).find((part) => part.type === field)?.value ?? "";
}
