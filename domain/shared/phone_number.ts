import { z } from "zod";
import { invalid } from "../problems/problem.ts";

const E164 = /^\+[1-9]\d{1,14}$/;
/** Characters that people write between the digits. The zero of `+44 (0)20` is dialled only within the country. */
const SEPARATORS = /\(0\)|[\s().\-/\u2010-\u2015]/g;

const PHONE_EXPECTED = "expected an international phone number such as +351912345678";

/** True for a number in E.164 form. */
export const isPhoneNumber = (text: string): boolean => E164.test(text);

/** An international phone number in E.164 form, without its separators; null if the text is not one. */
export function phoneNumberOf(text: string): string | null {
  const digits = text.replaceAll(SEPARATORS, "");
  return isPhoneNumber(digits) ? digits : null;
}

/** Schema of an international phone number, converted to E.164 form. */
export const internationalNumber = z.string().transform((value, context) => {
  const number = phoneNumberOf(value);
  if (number === null) context.addIssue(PHONE_EXPECTED);
  return number ?? z.NEVER;
});

/**
 * The phone number that a change stores. One that is not changed may be in a form that older versions accepted.
 * @throws VALIDATION_ERROR if it is not international
 */
export function changedPhoneNumber<G extends string | null | undefined>(
  given: G,
  stored: string | null,
): G | string {
  if (typeof given !== "string" || given === stored) return given;
  const number = phoneNumberOf(given);
  if (number === null) throw invalid({ phoneNumber: [PHONE_EXPECTED] });
  return number;
}
