/** The first instant at which the zone's local time is `local`; the end of the gap if a clock change skips that time. */
export function firstInstantOf(local: Temporal.PlainDateTime, timeZoneId: string): Temporal.ZonedDateTime {
  const earlier = local.toZonedDateTime(timeZoneId, { disambiguation: "earlier" });
  const exists = earlier.toPlainDateTime().equals(local);
  return exists ? earlier : earlier.getTimeZoneTransition("next") ?? earlier;
}
