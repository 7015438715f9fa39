import { z } from "zod";

/** A time in what the service answers: a `Date` of a row, which JSON writes as an RFC 3339 text. */
export const time = z.date().meta({ type: "string", format: "date-time" });
