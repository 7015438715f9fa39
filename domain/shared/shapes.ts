import { z } from "zod";
import { isMailAddress, mailDomain } from "../../infra/mail/mail_address.ts";

/**
 * Schema of a time in an answer: a `Date` of a row, which JSON writes as an RFC 3339 text. The output type of a schema is the
 * row; its input type is the JSON that a client reads.
 */
export const time = z.codec(z.iso.datetime(), z.date(), {
  decode: (text) => new Date(text),
  encode: (date) => date.toISOString(),
});

/** The shape of the time of deletion, which distinguishes deleted rows in a list with `includeDeleted`. */
export const deletedAt = time.nullable().describe(
  "null: not deleted. Only lists with `includeDeleted` contain deleted ones",
);

/** True for an object of JSON, which is neither null nor an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A JSON object with any members, which are kept unchanged, `__proto__` included. */
export const anyObject = z.custom<Record<string, unknown>>(isObject, { error: "expected an object" }).meta({
  type: "object",
  propertyNames: { type: "string" },
  additionalProperties: {},
});

/** An object of any members that may be null or absent. `meta` repeats the type, because that of `anyObject` excludes null. */
export const optionalObject = anyObject.nullish().meta({ type: ["object", "null"] });

/** An email address, trimmed. */
export const mailAddress = z.string().trim().normalize("NFC").refine(
  isMailAddress,
  "expected an email address",
)
  .meta({ format: "email", maxLength: 254 });

/** The domain of an email address, as `mailDomain` compares it. */
export const domainOfMail = z.string().trim().normalize("NFC")
  .refine((text) => isMailAddress(`a@${text}`), "expected a domain such as example.com")
  .transform((text) => mailDomain(`a@${text}`)).meta({ example: "example.com" });

/** A phone number as it is given; null for an empty text. `changedPhoneNumber` checks it. */
export const givenPhoneNumber = z.string().trim().max(40).nullish().transform((value) =>
  value === undefined ? undefined : value || null
);

/** The error message for a text that is not a UUID. */
export const NO_UUID = "expected a UUID";
/** A UUID, converted to lower case. */
export const uuid = z.guid({ error: NO_UUID }).toLowerCase();

/** A visible character: not a control or format character, white space or filler. */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u;

/** True if a text has a visible character. A text without one is no text. */
export const isVisible = (text: string): boolean => VISIBLE.test(text);

const NOT_VISIBLE = "expected at least one visible character";

/** Text of at most `max` characters as it is stored: in Unicode NFC. */
export const storedText = (max: number) => z.string().normalize("NFC").max(max);

/** Trimmed text of 1 to `max` characters, of which at least one is visible. */
export const requiredText = (max: number) =>
  z.string().trim().normalize("NFC").min(1).max(max).refine(
    (text) => text === "" || isVisible(text),
    NOT_VISIBLE,
  );

/** The schema of a member that may be absent or null, and then has the value `fallback`. */
export const withDefault = <S extends z.ZodType, D extends z.output<S> | null | undefined>(
  schema: S,
  fallback: D,
) => schema.nullish().transform((value) => (value ?? fallback) as z.output<S> | Extract<D, null | undefined>);

/** The schema of a member that is null if it is left out. */
export const orNull = <S extends z.ZodType>(schema: S) => withDefault(schema, null);

/** The schema of a member that counts as left out if it is null. */
export const orUndefined = <S extends z.ZodType>(schema: S) => withDefault(schema, undefined);

/** The schema of a member of a change: null sets it to `initial`, and without it the value stays. */
export const orReset = <S extends z.ZodType>(schema: S, initial: z.output<S>) =>
  schema.nullish().transform((value) => value === null ? initial : value as z.output<S> | undefined);

/** Text of at most `max` characters, or null. */
export const optionalText = (max: number) => orNull(storedText(max));

/** Returns a function that converts a text to the one of `names` that equals it but for case. Other values stay. */
export function spelledAs(names: readonly unknown[]): (value: unknown) => unknown {
  const texts = names.filter((name) => typeof name === "string");
  const spelling = new Map(texts.map((name) => [name.toLowerCase(), name]));
  return (value) =>
    typeof value !== "string" || texts.includes(value) ? value : spelling.get(value.toLowerCase()) ?? value;
}

/** One of `names`, case-insensitive, converted to the spelling in `names`. */
export const enumName = <const N extends readonly [string, ...string[]]>(
  names: N,
  error = `expected one of ${names.join(", ")}`,
) => z.preprocess(spelledAs(names), z.enum(names, { error }));

/** True for the years 1 to 9999, which ISO 8601 and the database can represent. An offset can lead outside. */
function isStorable(instant: Date): boolean {
  const year = instant.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

const TIME_FORMS = { offset: true, local: true } as const;
const NAMES_ZONE = /(Z|[+-]\d\d:\d\d)$/;

/** An ISO 8601 instant with minutes, or a date. Without an offset it is in UTC; a date means midnight. */
export const instant = z.union([
  z.iso.datetime(TIME_FORMS),
  z.iso.datetime({ ...TIME_FORMS, precision: -1 }),
  z.iso.date(),
], { error: "expected an ISO 8601 instant such as 2026-01-31T12:00:00Z" })
  .transform((value) => new Date(value.includes("T") && !NAMES_ZONE.test(value) ? `${value}Z` : value))
  .refine(isStorable, "expected an instant of the years 1 to 9999");

const CONTROL = /\p{Cc}/u;

/**
 * Schema of a name of at most `max` characters, which may be empty. It is trimmed and normalized to NFC, so that names which
 * look the same are equal. Control characters are refused, because they break lines of logs, mails and CSV files.
 * @param error message if the value is not a string.
 */
export const optionalName = (max: number, error?: string) =>
  z.string({ error }).trim().normalize("NFC").max(max).refine(
    (name) => name === "" || isVisible(name),
    NOT_VISIBLE,
  ).refine((name) => !CONTROL.test(name), { error: "expected no control characters, such as line breaks" });

/** Schema of a name as `optionalName`, which must not be empty. */
export const requiredName = (max: number, error?: string) => optionalName(max, error).min(1, { error });
