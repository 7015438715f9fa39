import { z } from "zod";

const text = z.iso.datetime();

/** A time in what the service answers: a `Date` of a row, which JSON writes as an RFC 3339 text. */
export const time = z.custom<Date>(
  (value) => value instanceof Date || text.safeParse(value).success,
  "expected a time",
).meta({ type: "string", format: "date-time" });
