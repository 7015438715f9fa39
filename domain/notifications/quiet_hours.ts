import { firstInstantOf } from "../shared/local_time.ts";

const MINUTES_A_DAY = 24 * 60;

/** Quiet hours in a user's time zone, in minutes of the day. If `to` is less than `from`, they last past midnight. */
export interface QuietHours {
  timeZoneId: string;
  from: number;
  to: number;
}

/**
 * The end of the quiet hours that contain `now`; null if `now` is outside of quiet hours. When clocks change: an end
 * time that is skipped becomes the end of the gap. If an end time occurs twice, the first one after `now` counts.
 */
export function quietUntil({ timeZoneId, from, to }: QuietHours, now: Date): Date | null {
  const local = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(timeZoneId);
  const minute = local.hour * 60 + local.minute;
  const isQuiet = from < to ? minute >= from && minute < to : minute >= from || minute < to;
  if (!isQuiet) return null;
  const day = minute < to ? local.toPlainDate() : local.toPlainDate().add({ days: 1 });
  const end = day.toPlainDateTime(Temporal.PlainTime.from({ hour: Math.floor(to / 60), minute: to % 60 }));
  const first = firstInstantOf(end, timeZoneId);
  if (first.epochMilliseconds > now.getTime()) return new Date(first.epochMilliseconds);
  const second = end.toZonedDateTime(timeZoneId, { disambiguation: "later" });
  return second.epochMilliseconds > now.getTime() ? new Date(second.epochMilliseconds) : null;
}

/** Formats minutes of the day as `HH:MM`. */
export const clockTime = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;

/** Parses `HH:MM` to minutes of the day; null if it is not a valid time. */
export function minutesOf(clock: string): number | null {
  const [, hours, minutes] = /^(\d{2}):(\d{2})$/.exec(clock) ?? [];
  if (hours === undefined || Number(minutes) > 59) return null;
  const total = Number(hours) * 60 + Number(minutes);
  return total < MINUTES_A_DAY ? total : null;
}
