import { z } from "zod";

/**
 * A time in what the service answers: a `Date` of a row, which JSON writes as an RFC 3339 text. The output type of a shape
 * is the row, its input type is what a client reads.
 */
export const time = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString(),
});
