import { Cron } from "croner";
import { type FieldErrors, invalid } from "../problems/problem.ts";

const CACHED_PATTERNS = 5_000;
const patterns = new Map<string, Cron>();

/** The hour field of an expression that is about intervals rather than about local times. */
const EVERY_HOUR = /^\s*\S+\s+\*(\/\d+)?\s/;

/**
 * The first instant after `after` at which the five-field expression is due in the IANA time zone; null if it never is.
 * A local time skipped by a daylight-saving change runs at the first instant after the gap. A local time that occurs
 * twice runs at its first occurrence; if the hour is `*` or a step of it, at both.
 */
export function nextRun(cronExpression: string, timeZoneId: string, after: Date): Date | null {
  const pattern = patternOf(cronExpression);
  const runsTwice = EVERY_HOUR.test(cronExpression);
  let wall = wallClock(after, timeZoneId);
  for (;;) {
    const next = pattern.nextRun(wall);
    if (!next) return null;
    const local = localTime(next, "UTC");
    let at = firstInstantOf(local, timeZoneId);
    if (runsTwice && at.epochMilliseconds <= after.getTime()) at = lastInstantOf(local, timeZoneId);
    if (at.epochMilliseconds > after.getTime()) {
      const repeated = runsTwice ? firstRepeated(pattern, after, at) : null;
      return new Date((repeated ?? at).epochMilliseconds);
    }
    wall = next; // this local time occurs twice, and its first occurrence is before `after`
  }
}

/** The first run in the second pass of a repeated hour that begins after `after`, if it is earlier than `at`; else null. */
function firstRepeated(
  pattern: Cron,
  after: Date,
  at: Temporal.ZonedDateTime,
): Temporal.ZonedDateTime | null {
  const now = Temporal.Instant.fromEpochMilliseconds(after.getTime()).toZonedDateTimeISO(at.timeZoneId);
  if (now.offsetNanoseconds <= at.offsetNanoseconds) return null; // the clock does not go back
  const change = now.getTimeZoneTransition("next")?.toPlainDateTime().toZonedDateTime("UTC");
  const next = change && pattern.nextRun(new Date(change.epochMilliseconds - 1));
  const repeated = next ? lastInstantOf(localTime(next, "UTC"), at.timeZoneId) : null;
  return repeated && repeated.epochMilliseconds < at.epochMilliseconds ? repeated : null;
}

const lastInstantOf = (local: Temporal.PlainDateTime, timeZoneId: string): Temporal.ZonedDateTime =>
  local.toZonedDateTime(timeZoneId, { disambiguation: "later" });

/** The next `count` instants at which the expression is due; fewer if there are not as many. */
export function nextRuns(cronExpression: string, timeZoneId: string, after: Date, count: number): Date[] {
  const runs: Date[] = [];
  for (let at: Date | null = after; runs.length < count;) {
    at = nextRun(cronExpression, timeZoneId, at);
    if (!at) break;
    runs.push(at);
  }
  return runs;
}

/**
 * The errors of a schedule by field name; empty if it is valid. The expression must have exactly five fields: seconds,
 * years and nicknames such as `@daily` are refused.
 */
export function scheduleMistakes(cronExpression: string, timeZoneId: string): FieldErrors {
  const cron = cronMistake(cronExpression);
  return {
    ...(cron ? { cronExpression: [cron] } : {}),
    ...(isTimeZone(timeZoneId) ? {} : {
      timeZoneId: [`"${timeZoneId}" is not an IANA time zone; expected one such as Europe/Lisbon or UTC`],
    }),
  };
}

/** @throws VALIDATION_ERROR for the expression or the time zone */
export function requireSchedule(cronExpression: string, timeZoneId: string): void {
  const mistakes = scheduleMistakes(cronExpression, timeZoneId);
  if (Object.keys(mistakes).length > 0) throw invalid(mistakes);
}

function cronMistake(expression: string): string | null {
  const fields = expression.trim().split(/\s+/);
  const expected = "expected five fields: minute, hour, day of month, month, day of week";
  if (fields.length !== 5) return `"${expression}" has ${fields.length} fields; ${expected}`;
  if (!/^[\w*,/\-#\s]+$/.test(expression)) {
    return `"${expression}" has characters that are not allowed in cron; ${expected}`;
  }
  try {
    return patternOf(expression).nextRun() ? null : `"${expression}" is never due`;
  } catch (error) {
    const reason = (error as Error).message.replace(/^CronPattern: /, "");
    return `"${expression}" is not a cron expression: ${outOfRange(reason, fields) ?? reason}`;
  }
}

/** The names of croner for the fields, with what each may have. */
const RANGES: [name: string, expected: string][] = [
  ["minute", "minutes from 0 to 59"],
  ["hour", "hours from 0 to 23"],
  ["day", "days from 1 to 31"],
  ["month", "months from 1 to 12 or JAN to DEC"],
  ["dayOfWeek", "days of the week from 0 to 7 or SUN to SAT"],
];

/** Croner counts days and months from 0, so its message does not name what the caller wrote. */
function outOfRange(reason: string, fields: string[]): string | null {
  const [, name] = /^Invalid value for (\w+): /.exec(reason) ?? [];
  const field = RANGES.findIndex(([known]) => known === name);
  return field < 0 ? null : `expected ${RANGES[field]?.[1]}, found ${fields[field]}`;
}

function isTimeZone(id: string): boolean {
  if (!/^[A-Za-z]/.test(id)) return false; // offsets such as +02:00 are not zones: they have no daylight-saving rules
  try {
    new Intl.DateTimeFormat("en", { timeZone: id });
    return true;
  } catch {
    return false;
  }
}

/** The parsed expression. It works on local times written as UTC; the functions below convert time zones. */
function patternOf(expression: string): Cron {
  let pattern = patterns.get(expression);
  if (!pattern) {
    // an offset instead of the zone UTC, because croner converts a zone by Intl, which takes ten times as long
    pattern = new Cron(expression.trim(), { mode: "5-part", utcOffset: 0, paused: true });
    if (patterns.size >= CACHED_PATTERNS) patterns.clear();
    patterns.set(expression, pattern);
  }
  return pattern;
}

/** The local time of the zone at `at`, written as UTC. */
const wallClock = (at: Date, timeZoneId: string): Date =>
  new Date(localTime(at, timeZoneId).toZonedDateTime("UTC").epochMilliseconds);

const localTime = (at: Date, timeZoneId: string): Temporal.PlainDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(timeZoneId).toPlainDateTime();

/** The first instant at which the zone's local time is `local`; the end of the gap if a clock change skips that time. */
export function firstInstantOf(local: Temporal.PlainDateTime, timeZoneId: string): Temporal.ZonedDateTime {
  const earlier = local.toZonedDateTime(timeZoneId, { disambiguation: "earlier" });
  const exists = earlier.toPlainDateTime().equals(local);
  return exists ? earlier : earlier.getTimeZoneTransition("next") ?? earlier;
}
