/**
 * Members with personal data, whatever the target. A member that contains such a member is personal as a whole, and so
 * is a member with an email address in its text.
 */
const PERSONAL_MEMBERS = [
  "address",
  "displayName",
  "email",
  "externalId",
  "firstName",
  "ip",
  "lastName",
  "metadata",
  "newEmail",
  "phoneNumber",
  "recipients",
  "subject",
  "userAgent",
];

/** Further personal members of a target, by its `targetType`. */
const PERSONAL_MEMBERS_OF: Record<string, string[]> = {
  apiKey: ["name"],
  factor: ["name"],
  "notification-suppression": ["detail"],
  reportSchedule: ["deliveryOptionsJson", "burstJson"],
  user: ["name"],
};

/** A value of an audit row, split into what stays in the row and what lies beside it. Null: nothing. */
interface SplitValue {
  kept: unknown;
  personal: unknown;
}

/** The lookbehind keeps the search linear: a text without spaces would otherwise be scanned from each character. */
const EMAIL = /(?<![^\s@"'<>,;:()[\]\\])[^\s@"'<>,;:()[\]\\]+@[^\s@"'<>,;:()[\]\\]+\.[^\s@"'<>,;:()[\]\\]+/g;
const PHONE = /^\+?[0-9][0-9 ()./-]{5,30}$/;

/** Splits `before` or `after` of an audit row. Both parts together are the value. */
export function splitPersonal(targetType: string, value: unknown): SplitValue {
  const json: unknown = value === undefined ? null : JSON.parse(JSON.stringify(value) ?? "null");
  if (json === null || typeof json !== "object" || Array.isArray(json)) {
    return isPersonalValue(json) ? { kept: null, personal: json } : { kept: json, personal: null };
  }
  const own = PERSONAL_MEMBERS_OF[targetType] ?? [];
  const isApart = ([name, member]: [string, unknown]) =>
    isSet(member) && (own.includes(name) || isPersonalMember(name, member));
  const members = Object.entries(json);
  const personal = members.filter(isApart);
  if (personal.length === 0) return { kept: json, personal: null };
  const kept = members.filter((member) => !isApart(member));
  return { kept: Object.fromEntries(kept), personal: Object.fromEntries(personal) };
}

/** Whose values these are: the target, if it is a user; else the addresses and telephone numbers in them. */
export function subjectsOf(targetType: string, targetId: string, personal: unknown[]): string[] {
  const values = personal.filter((value) => value !== null);
  if (values.length === 0) return [];
  if (targetType === "user") return [targetId];
  return [...new Set(values.flatMap(addressesIn))];
}

/** The form in which addresses are subjects. */
export const addressSubject = (address: string): string => address.trim().toLowerCase();

const isSet = (value: unknown): boolean => value !== null && value !== "";

const isPersonalMember = (name: string, value: unknown): boolean =>
  isSet(value) && (PERSONAL_MEMBERS.includes(name) || isPersonalValue(value));

function isPersonalValue(value: unknown): boolean {
  if (typeof value === "string") return value.search(EMAIL) !== -1;
  if (value === null || typeof value !== "object") return false;
  if (Array.isArray(value)) return value.some(isPersonalValue);
  return Object.entries(value).some(([name, member]) => isPersonalMember(name, member));
}

function addressesIn(value: unknown): string[] {
  if (typeof value === "string") {
    const emails = value.match(EMAIL) ?? [];
    return [...emails, ...PHONE.test(value) ? [value] : []].map(addressSubject);
  }
  return value !== null && typeof value === "object" ? Object.values(value).flatMap(addressesIn) : [];
}
