const MINUTES_A_DAY = 24 * 60;

/** Quiet hours on a user's clocks, in minutes of the day; `to` before `from`: past midnight. */
export interface QuietHours {
  timeZoneId: string;
  from: number;
  to: number;
}

/**
 * When the quiet hours end that `now` lies in, or null when it lies in none. The user's clocks decide: an end the
 * clocks skip is the end of the gap, and where an end comes twice it is the first one that is still ahead.
 */
export function quietUntil({ timeZoneId, from, to }: QuietHours, now: Date): Date | null {
  const local = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(timeZoneId);
  const minute = local.hour * 60 + local.minute;
  const isQuiet = from < to ? minute >= from && minute < to : minute >= from || minute < to;
  if (!isQuiet) return null;
  const day = minute < to ? local.toPlainDate() : local.toPlainDate().add({ days: 1 });
  const end = day.toPlainDateTime(Temporal.PlainTime.from({ hour: Math.floor(to / 60), minute: to % 60 }));
  const earlier = end.toZonedDateTime(timeZoneId, { disambiguation: "earlier" });
  const exists = earlier.toPlainDateTime().equals(end);
  const first = exists ? earlier : earlier.getTimeZoneTransition("next") ?? earlier;
  if (first.epochMilliseconds > now.getTime()) return new Date(first.epochMilliseconds);
  const second = end.toZonedDateTime(timeZoneId, { disambiguation: "later" });
  return second.epochMilliseconds > now.getTime() ? new Date(second.epochMilliseconds) : null;
}

/** Minutes of the day as clocks write them, such as `07:00`. */
export const clockTime = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;

/** The minutes of the day a clock's `HH:MM` stands for, or null where it is none. */
export function minutesOf(clock: string): number | null {
  const [, hours, minutes] = /^(\d{2}):(\d{2})$/.exec(clock) ?? [];
  if (hours === undefined || Number(minutes) > 59) return null;
  const total = Number(hours) * 60 + Number(minutes);
  return total < MINUTES_A_DAY ? total : null;
}
