import { z } from "zod";

/** A visible character: not a control or format character, white space or filler. */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * Schema of a name: trimmed, at most `max` characters, may be empty. Normalized to NFC, so that names which look the same
 * are equal.
 * @param error message if the value is not a string.
 */
export const optionalName = (max: number, error?: string) =>
  z.string({ error }).trim().normalize("NFC").max(max).refine((name) => name === "" || VISIBLE.test(name), {
    error: "expected at least one visible character",
  });

/** Like `optionalName`, but must not be empty. */
export const requiredName = (max: number, error?: string) => optionalName(max, error).min(1, { error });
