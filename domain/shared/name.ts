import { z } from "zod";

/** A visible character: not a control or format character, white space or filler. */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

const CONTROL = /\p{Cc}/u;

/**
 * Schema of a name of at most `max` characters, which may be empty. It is trimmed and normalized to NFC, so that names which
 * look the same are equal. Control characters are refused, because they break lines of logs, mails and CSV files.
 * @param error message if the value is not a string.
 */
export const optionalName = (max: number, error?: string) =>
  z.string({ error }).trim().normalize("NFC").max(max).refine((name) => name === "" || VISIBLE.test(name), {
    error: "expected at least one visible character",
  }).refine((name) => !CONTROL.test(name), { error: "expected no control characters, such as line breaks" });

/** Schema of a name as `optionalName`, which must not be empty. */
export const requiredName = (max: number, error?: string) => optionalName(max, error).min(1, { error });
