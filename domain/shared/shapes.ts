import { z } from "zod";

/**
 * Schema of a time in an answer: a `Date` of a row, which JSON writes as an RFC 3339 text. The output type of a schema is the
 * row; its input type is the JSON that a client reads.
 */
export const time = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString(),
});
