import { getOrCreate } from "./cache.ts";
import type { Filter } from "./filter.ts";
import { describeValue } from "./text.ts";

/** ISO 8601; the offset as Postgres prints it, `+00`, too. */
const ISO =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(?:(Z)|([+-]\d{2}):?(\d{2})?)?)?$/i;
const STYLES = ["short", "medium", "long", "full"] as const;
const MAX_PATTERN = 100;
const styles = new Map<string, Intl.DateTimeFormat>();
const patterns = new Map<string, DatePart[] | string>();

/**
 * Parses a date value: a Date, milliseconds since 1970, or ISO 8601 text. Text without an offset is UTC. A date without
 * a time is shown as the same day in every time zone. @returns null if the value is not a date
 */
function instantIn(value: unknown): { instant: Date; isBareDate: boolean } | null {
  const [, day = "", time, , hours, minutes = "00"] = typeof value === "string" ? ISO.exec(value) ?? [] : [];
  const isBareDate = day !== "" && time === undefined;
  const instant = value instanceof Date || typeof value === "number"
    ? new Date(value)
    : isDay(day)
    ? new Date(`${day}T${time ?? "00:00"}${hours === undefined ? "Z" : `${hours}:${minutes}`}`)
    : null;
  return instant === null || Number.isNaN(instant.getTime()) ? null : { instant, isBareDate };
}

/** False for 30 February, which JavaScript reads as a day of March. */
function isDay(day: string): boolean {
  const midnight = new Date(`${day}T00:00Z`);
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day);
}

function patternOf(pattern: string): DatePart[] | string {
  return getOrCreate(patterns, pattern, () => parseDatePattern(pattern));
}

function styled(locale: string, style: string, zone: string): Intl.DateTimeFormat {
  return getOrCreate(
    styles,
    `${locale}|${style}|${zone}`,
    () => new Intl.DateTimeFormat(locale, { dateStyle: style as "medium", timeZone: zone }),
  );
}

const isStyle = (pattern: unknown) => (STYLES as readonly unknown[]).includes(pattern);

/**
 * `date`, `date:"yyyy-MM-dd HH:mm"`, `date:"long":"Europe/Lisbon"`. The first argument is a pattern, or a style of the
 * locale: short, medium (default), long or full. The default time zone is UTC. A value that is not a date is unchanged.
 */
export const date: Filter = {
  minArguments: 0,
  maxArguments: 2,
  check([pattern = "medium", zone = "UTC"], locale) {
    if (typeof pattern !== "string" || pattern.length > MAX_PATTERN) {
      return `expects a pattern of at most ${MAX_PATTERN} characters, found ${describeValue(pattern)}`;
    }
    const problem = zoneProblem(zone);
    if (problem !== null) return problem;
    if (isStyle(pattern)) {
      styled(locale, pattern, zone as string).format(0);
      return null;
    }
    const parts = patternOf(pattern);
    if (typeof parts === "string") return parts;
    const epoch = inZone(new Date(0), zone as string);
    for (const part of parts) part(epoch, locale);
    return null;
  },
  apply(value, [pattern = "medium", zone = "UTC"], { locale, budget }) {
    const found = instantIn(value);
    if (found === null) return value;
    budget.charge(4_096);
    const shownIn = found.isBareDate ? "UTC" : zone as string;
    if (isStyle(pattern)) return styled(locale, pattern as string, shownIn).format(found.instant);
    const parts = patternOf(pattern as string);
    const at = inZone(found.instant, shownIn);
    return typeof parts === "string" ? value : parts.map((part) => part(at, locale)).join("");
  },
};

/** One part of a date pattern: formats its part of a date. */
type DatePart = (at: Temporal.ZonedDateTime, locale: string) => string;

const pad = (value: number, width: number) => String(Math.abs(value)).padStart(width, "0");
const twelveHour = (hour: number) => hour % 12 === 0 ? 12 : hour % 12;
const offset: DatePart = (at) => at.offset.slice(0, 6); // without the seconds of historical offsets

/** The pattern letters that Unicode and .NET share. If they differ, both spellings are supported. */
const LETTERS: Record<string, DatePart> = {
  y: (at) => String(at.year),
  yy: (at) => pad(at.year % 100, 2),
  yyyy: (at) => pad(at.year, 4),
  M: (at) => String(at.month),
  MM: (at) => pad(at.month, 2),
  d: (at) => String(at.day),
  dd: (at) => pad(at.day, 2),
  E: (at, locale) => word(at, locale, "weekday", "short"),
  EEE: (at, locale) => word(at, locale, "weekday", "short"),
  EEEE: (at, locale) => word(at, locale, "weekday", "long"),
  ddd: (at, locale) => word(at, locale, "weekday", "short"),
  dddd: (at, locale) => word(at, locale, "weekday", "long"),
  H: (at) => String(at.hour),
  HH: (at) => pad(at.hour, 2),
  h: (at) => String(twelveHour(at.hour)),
  hh: (at) => pad(twelveHour(at.hour), 2),
  m: (at) => String(at.minute),
  mm: (at) => pad(at.minute, 2),
  s: (at) => String(at.second),
  ss: (at) => pad(at.second, 2),
  SSS: (at) => pad(at.millisecond, 3),
  fff: (at) => pad(at.millisecond, 3),
  a: (at, locale) => word(at, locale, "dayPeriod", "short"),
  tt: (at, locale) => word(at, locale, "dayPeriod", "short"),
  XXX: (at, locale) => at.offsetNanoseconds === 0 ? "Z" : offset(at, locale),
  xxx: offset,
  zzz: offset,
  T: () => "T",
};

const PIECE = /'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'/g;

/**
 * Parses a date pattern such as `d 'de' MMMM yyyy, HH:mm`. Literal letters are in single quotes; `''` is a quote.
 * @returns the parts, or an error message
 */
function parseDatePattern(pattern: string): DatePart[] | string {
  const hasDay = /(^|[^d])dd?([^d]|$)/.test(pattern.replace(/'[^']*'/g, ""));
  const parts: DatePart[] = [];
  for (const [piece, quoted] of pattern.matchAll(PIECE)) {
    const literal = quoted === undefined ? piece : quoted === "" ? "'" : quoted.replaceAll("''", "'");
    if (piece === "'") return "has a quote in its pattern that is not closed";
    if (piece === "MMM" || piece === "MMMM") {
      const width = piece === "MMM" ? "short" : "long";
      parts.push((at, locale) => word(at, locale, "month", width, hasDay ? "day" : undefined));
    } else if (quoted === undefined && /^[A-Za-z]/.test(piece)) {
      const part = Object.hasOwn(LETTERS, piece) ? LETTERS[piece] : undefined;
      if (part === undefined) {
        return `has the unknown letters \`${piece}\` in its pattern; put literal text in quotes: '${piece}'`;
      }
      parts.push(part);
    } else parts.push(() => literal);
  }
  return parts;
}

const zones = new Map<string, Intl.DateTimeFormat>();
const names = new Map<string, Intl.DateTimeFormat>();

/** Checks a time zone argument. @returns an error message, or null */
function zoneProblem(zone: unknown): string | null {
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
const inZone = (instant: Date, zone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(instant.getTime()).toZonedDateTimeISO(zone);

/**
 * The name of a month, weekday or day period in the locale. Many languages inflect a month next to a day ("5 de março",
 * "5 марта"). `beside` selects that form.
 */
function word(
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
