import { Cron } from "croner";
import { type FieldErrors, invalid } from "../problems/problem.ts";

const REMEMBERED = 5_000;
const patterns = new Map<string, Cron>();

/**
 * The first instant after `after` at which the five-field expression comes due in the IANA time zone; null when it
 * never does. A local time that the clocks skip runs at the first instant after the gap; one that occurs twice runs
 * at its first occurrence only.
 */
export function nextRun(cronExpression: string, timeZoneId: string, after: Date): Date | null {
  const pattern = patternOf(cronExpression);
  let wall = wallClock(after, timeZoneId);
  for (;;) {
    const next = pattern.nextRun(wall);
    if (!next) return null;
    const at = firstInstantOf(next, timeZoneId);
    if (at > after) return at;
    wall = next; // it lies in the first pass of an hour the clocks are now repeating
  }
}

/** The next `count` instants at which the expression comes due; fewer where it stops coming due. */
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
 * The mistakes of a schedule, by the names of its two fields; empty when it is sound. Exactly five fields are taken:
 * seconds, years and nicknames such as `@daily` are refused.
 */
export function scheduleMistakes(cronExpression: string, timeZoneId: string): FieldErrors {
  const cron = cronMistake(cronExpression);
  return {
    ...(cron ? { cronExpression: [cron] } : {}),
    ...(isTimeZone(timeZoneId)
      ? {}
      : { timeZoneId: [`"${timeZoneId}" is no IANA time zone; expected one such as Europe/Lisbon or UTC`] }),
  };
}

/** @throws VALIDATION_ERROR naming the expression or the zone. */
export function requireSchedule(cronExpression: string, timeZoneId: string): void {
  const mistakes = scheduleMistakes(cronExpression, timeZoneId);
  if (Object.keys(mistakes).length > 0) throw invalid(mistakes);
}

function cronMistake(expression: string): string | null {
  const fields = expression.trim().split(/\s+/);
  const expected = "expected five fields: minute, hour, day of month, month, day of week";
  if (fields.length !== 5) return `"${expression}" has ${fields.length} fields; ${expected}`;
  if (!/^[\w*,/\-#\s]+$/.test(expression)) {
    return `"${expression}" has characters cron does not know; ${expected}`;
  }
  try {
    return patternOf(expression).nextRun() ? null : `"${expression}" never comes due`;
  } catch (error) {
    return `"${expression}" is no cron expression: ${(error as Error).message.replace(/^CronPattern: /, "")}`;
  }
}

function isTimeZone(id: string): boolean {
  if (!/^[A-Za-z]/.test(id)) return false; // offsets such as +02:00 are no zones: they know no daylight saving
  try {
    new Intl.DateTimeFormat("en", { timeZone: id });
    return true;
  } catch {
    return false;
  }
}

/** The parsed expression. It only ever sees wall-clock readings written as if they were UTC; zones are ours. */
function patternOf(expression: string): Cron {
  let pattern = patterns.get(expression);
  if (!pattern) {
    pattern = new Cron(expression.trim(), { mode: "5-part", timezone: "UTC", paused: true });
    if (patterns.size >= REMEMBERED) patterns.clear();
    patterns.set(expression, pattern);
  }
  return pattern;
}

/** What the clocks of the zone show at `at`, written as UTC. */
function wallClock(at: Date, timeZoneId: string): Date {
  const wall = Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(timeZoneId)
    .toPlainDateTime();
  return new Date(wall.toZonedDateTime("UTC").epochMilliseconds);
}

/** The first instant at which the clocks of the zone show `wall`, or the end of the gap when they never do. */
function firstInstantOf(wall: Date, timeZoneId: string): Date {
  const reading = Temporal.Instant.fromEpochMilliseconds(wall.getTime()).toZonedDateTimeISO("UTC")
    .toPlainDateTime();
  const earlier = reading.toZonedDateTime(timeZoneId, { disambiguation: "earlier" });
  const exists = earlier.toPlainDateTime().equals(reading);
  const at = exists ? earlier : earlier.getTimeZoneTransition("next") ?? earlier;
  return new Date(at.epochMilliseconds);
}
