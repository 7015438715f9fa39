// Parses timestamps for the driver. JavaScript's Date reads the year 0050 as 1950, so years below 100 are parsed part by
// part. So are UTC offsets with seconds, as in historical local times.

const PRINTED =
  /^(\d{4,6})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(?:\.(\d{1,3})\d*)?)?(?:([+-])(\d\d)(?::(\d\d))?(?::(\d\d))?)?( BC)?$/;

/**
 * True for `2026-11-27 00:42:55.123+00`. Nine of ten timestamps look like that if the server's time zone is UTC; the others
 * end in zeros, which are not printed. `Date` needs three times as long for the text as for its parts, and a list of rows
 * has hundreds.
 */
const isUsual = (text: string): boolean =>
  text.length >= "2026-11-27 00:42:55.123+00".length && text[0] !== "0" && text[4] === "-" &&
  text[19] === "." &&
  text.endsWith("+00");

/** Parses a timestamp or date as Postgres prints it. Infinity gives an invalid Date. */
export function readTime(text: string): Date {
  if (isUsual(text)) {
    const [year, month, day] = [digits(text, 0, 4), digits(text, 5, 7), digits(text, 8, 10)];
    const [hour, minute, second] = [digits(text, 11, 13), digits(text, 14, 16), digits(text, 17, 19)];
    return new Date(Date.UTC(year, month - 1, day, hour, minute, second, digits(text, 20, 23)));
  }
  if (!text.startsWith("00")) {
    const date = new Date(text);
    if (!Number.isNaN(date.getTime())) return date;
  }
  const parts = PRINTED.exec(text);
  if (!parts) return new Date(NaN);
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0));
  const milliseconds = Number((parts[7] ?? "").padEnd(3, "0"));
  const [hours, minutes, seconds] = parts.slice(9, 12).map((part) => Number(part ?? 0));
  const offset = ((hours ?? 0) * 3600 + (minutes ?? 0) * 60 + (seconds ?? 0)) * (parts[8] === "-" ? -1 : 1);
  const date = new Date(0);
  date.setUTCFullYear(parts[12] ? 1 - (year ?? 0) : year ?? 0, (month ?? 1) - 1, day ?? 1);
  date.setUTCHours(hour ?? 0, minute ?? 0, (second ?? 0) - offset, milliseconds);
  return date;
}

/** The number in a part of the text. */
function digits(text: string, from: number, to: number): number {
  let number = 0;
  for (let at = from; at < to; at++) number = number * 10 + text.charCodeAt(at) - ZERO;
  return number;
}

const ZERO = "0".charCodeAt(0);

/** The driver's type definition for timestamps with and without time zone, and for dates. */
export const timeType = {
  to: 1184,
  from: [1082, 1114, 1184],
  serialize: (value: unknown) => (value instanceof Date ? value : new Date(value as string)).toISOString(),
  parse: readTime,
};
