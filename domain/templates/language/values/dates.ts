import { type DatePart, parseDatePattern } from "./date_pattern.ts";
import { getOrCreate } from "./cache.ts";
import type { Filter } from "./filter.ts";
import { describeValue } from "./text.ts";
import { inZone, zoneProblem } from "./zones.ts";

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
