import type { Visit } from "../shared/page.ts";

/**
 * The instant that a `date` or `datetime-local` input means on the viewer's clocks, ISO 8601; undefined where it is
 * empty or none. An hour that the clocks skip is read as the one after it.
 * @param dayEnds true: a date alone means its last millisecond.
 */
export function instantOf(v: Pick<Visit, "timeZone">, local: string, dayEnds = false): string | undefined {
  try {
    const isDay = /^\d{4}-\d{2}-\d{2}$/.test(local);
    const wall = Temporal.PlainDateTime.from(isDay && dayEnds ? `${local}T23:59:59.999` : local);
    return wall.toZonedDateTime(v.timeZone).toInstant().toString();
  } catch {
    return undefined;
  }
}

/** The instant as a `datetime-local` input takes it, on the viewer's clocks. */
export const localOf = (v: Pick<Visit, "timeZone">, instant: string): string =>
  Temporal.Instant.from(instant).toZonedDateTimeISO(v.timeZone).toPlainDateTime()
    .toString({ smallestUnit: "minute" });
