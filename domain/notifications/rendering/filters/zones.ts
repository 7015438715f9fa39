import { getOrCreate } from "./cache.ts";
import { describeValue } from "./text.ts";

const clocks = new Map<string, Intl.DateTimeFormat>();
const names = new Map<string, Intl.DateTimeFormat>();

/** The fields of an instant in one time zone, with names in one locale. */
export interface ZonedFields {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  millisecond: number;
  /** Minutes east of UTC. */
  offset: number;
  /** The name of a month, weekday or day period in the locale. `beside` "day": the form of the month next to a day. */
  word(field: "month" | "weekday" | "dayPeriod", width: "short" | "long", beside?: "day"): string;
}

/** Checks a time zone argument. @returns an error message, or null */
export function zoneProblem(zone: unknown): string | null {
  try {
    if (typeof zone === "string" && zone !== "") {
      clock(zone);
      return null;
    }
  } catch {
    // Intl throws a RangeError for an unknown zone; the message below is clearer
  }
  return `expects a time zone such as "Europe/Lisbon", found ${describeValue(zone)}`;
}

/** The fields of `instant` in `zone`. `zone` must be valid according to `zoneProblem`. */
export function zonedFields(instant: Date, zone: string, locale: string): ZonedFields {
  const read = new Map(clock(zone).formatToParts(instant).map((part) => [part.type, part.value]));
  const at = (type: Intl.DateTimeFormatPartTypes) => Number(read.get(type) ?? 0);
  const [year, month, day] = [at("year"), at("month"), at("day")];
  const [hour, minute, second] = [at("hour"), at("minute"), at("second")];
  const local = new Date(0);
  local.setUTCFullYear(year, month - 1, day);
  local.setUTCHours(hour, minute, second, 0);
  const millisecond = instant.getUTCMilliseconds();
  const offset = Math.round((local.getTime() - (instant.getTime() - millisecond)) / 60_000);
  return {
    year,
    month,
    day,
    hour,
    minute,
    second,
    millisecond,
    offset,
    word: (field, width, beside) => word(instant, zone, locale, field, width, beside),
  };
}

function clock(zone: string): Intl.DateTimeFormat {
  return getOrCreate(clocks, zone, () =>
    new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    }));
}

/** Many languages inflect a month next to a day ("5 de março", "5 марта"). `beside` selects that form. */
function word(
  instant: Date,
  zone: string,
  locale: string,
  field: "month" | "weekday" | "dayPeriod",
  width: "short" | "long",
  beside: "day" | undefined,
): string {
  const key = `${locale}|${zone}|${field}|${width}|${beside ?? ""}`;
  const format = getOrCreate(names, key, () => {
    const base = { timeZone: zone, calendar: "gregory" };
    if (field === "dayPeriod") {
      return new Intl.DateTimeFormat(locale, { ...base, hour: "numeric", hour12: true });
    }
    const day = beside === undefined ? {} : { day: "numeric" as const };
    return new Intl.DateTimeFormat(locale, { ...base, [field]: width, ...day });
  });
  return format.formatToParts(instant).find((part) => part.type === field)?.value ?? "";
}
