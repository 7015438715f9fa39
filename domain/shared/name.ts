import { z } from "zod";

/** A character that leaves a mark: no control or format character, no white space, no filler. */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * A name of at most `max` characters, trimmed, or the empty text. It is kept in NFC: names that look the same would
 * otherwise not be equal.
 * @param error what is told where there is no text.
 */
export const optionalName = (max: number, error?: string) =>
  z.string({ error }).trim().normalize("NFC").max(max).refine((name) => name === "" || VISIBLE.test(name), {
    error: "expected at least one visible character",
  });

/** As `optionalName`, without the empty text. */
export const requiredName = (max: number, error?: string) => optionalName(max, error).min(1, { error });
