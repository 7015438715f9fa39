import { word } from "./zones.ts";

/** One part of a date pattern: formats its part of a date. */
export type DatePart = (at: Temporal.ZonedDateTime, locale: string) => string;

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
export function parseDatePattern(pattern: string): DatePart[] | string {
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
