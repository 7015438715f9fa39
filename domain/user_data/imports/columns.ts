import { z } from "zod";
import { isMailAddress } from "../../../infra/mail/mail_address.ts";
import { isAcceptedHash } from "../../../infra/passwords.ts";
import type { BulkRow } from "../../access/users/bulk/find_existing.ts";
import { inexactMetadata, metadataMistake } from "../../access/users/metadata.ts";
import { Problem } from "../../problems/problem.ts";
import { storableText } from "../../shared/cut_text.ts";
import { parseOrText } from "../../shared/exact_json.ts";
import { internationalNumber } from "../../shared/phone_number.ts";
import { isObject, optionalName } from "../../shared/shapes.ts";
import { requireStorableText } from "../../shared/storable.ts";

/** An error may name a member, and a file has members of any length. */
const LONGEST_ERROR = 500;

const text = (max: number) => z.string({ error: "expected a text" }).trim().min(1).max(max);
/** In a file with shifted columns. A hash as a name would be shown wherever the user is. */
const NO_HASH = "expected no password hash; check the order of the columns";
const holdsNoHash = (value: string) => !mayContainHash(value);
const name = optionalName(100, "expected a text").refine(holdsNoHash, NO_HASH);

const TRUE = ["true", "1", "yes"];
const FALSE = ["false", "0", "no"];
const isActive = z.union([z.boolean(), z.string().toLowerCase().trim()]).transform((value, context) => {
  if (typeof value === "boolean") return value;
  if (!TRUE.includes(value) && !FALSE.includes(value)) context.addIssue("expected true or false");
  return TRUE.includes(value);
});

/** Names or ids: a list, or a text separated by `;`. */
const roles = z.union([z.array(text(200)), z.string()]).transform((value) =>
  (typeof value === "string" ? value.split(";") : value).map((role) => role.trim()).filter((role) =>
    role !== ""
  )
).pipe(z.array(z.string().max(200)).max(50, { error: "expected at most 50 roles" }));

/** A JSON object, or its text. */
const metadata = z.unknown().transform((value, context) => {
  const object = typeof value === "string" ? parsed(value) : value;
  if (!isObject(object)) {
    context.addIssue("expected a JSON object");
    return {};
  }
  const mistake = metadataMistake(object) ??
    (typeof value === "string" ? inexactMetadata(parseOrText(value)) : null);
  if (mistake) context.addIssue(mistake);
  return object;
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const OF_USER = {
  email: z.string({ error: "expected an email address" }).trim().normalize("NFC")
    .refine(isMailAddress, "expected an email address").optional(),
  firstName: name.optional(),
  lastName: name.optional(),
  phoneNumber: text(40).refine(holdsNoHash, NO_HASH).pipe(internationalNumber).optional(),
  externalId: text(200).refine((id) => !isAcceptedHash(id), NO_HASH).optional(), // a digest can be an id
  isActive: isActive.optional(),
  roles: roles.optional(),
  passwordHash: z.string({ error: "expected a text" }).refine(isAcceptedHash, {
    error: "expected a password hash in a supported format and within the cost limits",
  }).optional(),
  metadata: metadata.optional(),
};
const SHAPES = {
  inTenant: z.strictObject(OF_USER),
  ofTenants: z.strictObject({ ...OF_USER, tenantId: text(36).optional(), tenantName: text(200).optional() }),
};

/** The columns of a file: of an import into one tenant, or into several. */
export const columnsOf = (tenantId: string | null): string[] =>
  Object.keys((tenantId === null ? SHAPES.ofTenants : SHAPES.inTenant).shape);

/** A checked row, or why it fails. */
type CheckedRow = { user: BulkRow } | { row: number; email: string | null; errors: string[] };

/** Checks a row. Empty values are absent. @param tenantId null: the row names its tenant */
export function checkRow(row: number, given: Record<string, unknown>, tenantId: string | null): CheckedRow {
  const values = Object.fromEntries(Object.entries(given).filter(([, value]) => !isEmpty(value)));
  const email = typeof values.email === "string" ? storableText(values.email, 254) : null;
  const refuse = (errors: string[]) => ({
    row,
    email,
    errors: errors.map((error) => storableText(error, LONGEST_ERROR)),
  });
  if ("password" in values) return refuse(["password: plain passwords are not imported; use passwordHash"]);
  const shape = tenantId === null ? SHAPES.ofTenants : SHAPES.inTenant;
  const { success, data, error } = shape.safeParse(values);
  if (!success) {
    return refuse(error.issues.map(({ path, message }) => `${path.join(".") || "row"}: ${message}`));
  }
  const mistake = unstorable(data);
  if (mistake !== null) return refuse([mistake]);
  const { tenantId: id, tenantName, ...user } = data as z.output<typeof SHAPES.ofTenants>;
  const tenant = tenantId ?? id ?? tenantName;
  if (tenant === undefined) return refuse(["tenantId: expected the id or the name of the user's tenant"]);
  if (user.email === undefined && user.externalId === undefined) {
    return refuse(["email: expected an email or an externalId"]);
  }
  return { user: { ...user, row, tenant } };
}

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || typeof value === "string" && value.trim() === "";

/** The reason why Postgres could not store one of the texts; null if it can. */
function unstorable(value: unknown): string | null {
  try {
    requireStorableText(value);
    return null;
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    return Object.entries(failure.extras.errors ?? {}).map(([field, why]) => `${field}: ${why}`).join("; ");
  }
}

/** The reason why a file cannot be imported at all. The import fails and writes nothing. */
export class ImportMistake extends Error {
  override name = "ImportMistake";
}

/** Another run of the same import has continued it, so this run must stop. */
export class ImportSuperseded extends Error {
  override name = "ImportSuperseded";
}

/** Shown instead of a password hash. */
export const HIDDEN_HASH = "•••";

/** Parts of a text that may be password hashes, of accepted and other formats. */
const HASH_LIKE = new RegExp(
  [
    String.raw`\{[A-Za-z][\w.-]*\}[\w+/.$=,-]{8,}`, // LDAP, Spring: {SSHA}…, {bcrypt}$2a$…
    String.raw`(?<![^\s"';])(?=[^\s"';]{13})[^\s"';$]*(?:\$[^\s"';$]*){2,}`, // crypt, PHC, Django, Werkzeug: $2b$10$…, sha1$salt$…
    String.raw`(?<![A-Za-z\d])(?:0x)?[\da-f]{32,}(?![A-Za-z\d])`, // digests in hexadecimal
    String.raw`(?<![\w+/])[A-Za-z\d+/]{22,}={1,2}(?!=)`, // digests in base64
    String.raw`(?<![\w+/])(?=[A-Za-z+/]*\d)[A-Za-z\d+/]{40,}`, // the same without padding
  ].join("|"),
  "gi",
);

/** Replaces what may be a password hash. A wrong column can bring one into any text about a row of an import. */
export const withoutHashes = (text: string): string => text.replaceAll(HASH_LIKE, HIDDEN_HASH);

/** True if the text contains a part that may be a password hash. */
export const mayContainHash = (text: string): boolean => withoutHashes(text) !== text;
