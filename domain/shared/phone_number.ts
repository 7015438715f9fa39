const E164 = /^\+[1-9]\d{1,14}$/;
/** What people write between the digits. The zero of `+44 (0)20` is dialled only within the country. */
const SEPARATORS = /\(0\)|[\s().\-/\u2010-\u2015]/g;

export const PHONE_EXPECTED = "expected an international phone number such as +351912345678";

export const isPhoneNumber = (text: string): boolean => E164.test(text);

/** An international phone number in E.164 form, without its separators; null if the text is not one. */
export function phoneNumberOf(text: string): string | null {
  const digits = text.replaceAll(SEPARATORS, "");
  return isPhoneNumber(digits) ? digits : null;
}
