import { isDeepStrictEqual } from "node:util";
import { internationalNumber } from "../../shared/phone_number.ts";
import { isObject, mailAddress } from "../../shared/shapes.ts";
import { type LockedUser, userName } from "../users/user_details.ts";
import { ENTERPRISE, PATH, scimProblem, USER } from "./schema.ts";
import { externalIdOf, isPrimary, type Resource, set, validText } from "./values.ts";

/** A user with the link to one tenant. */
export interface UserRow extends Omit<LockedUser, "appIds" | "metadata"> {
  createdAt: Date;
  updatedAt: Date;
  /** State of the link. */
  isActive: boolean;
  externalId: string | null;
  /** Attributes that the directory keeps about the user, besides those in the columns. */
  attributes: Resource;
  roleIds: string[];
  groups: { value: string; display: string }[];
}

/** The columns of a user that a resource asks for. */
export type WantedUser = Pick<
  UserRow,
  "email" | "firstName" | "lastName" | "phoneNumber" | "isActive" | "externalId" | "attributes"
>;

const MAX_BYTES = 16_384;
/** Attributes that columns have, or that only the service writes. */
const IN_COLUMNS = ["schemas", "id", "meta", "userName", "externalId", "active", "groups", "password"];

/** The SCIM resource of a user. */
export function toResource(row: UserRow, base: string): Resource {
  const { id, email, firstName, lastName, externalId, attributes, groups } = row;
  const { name: names, ...others } = attributes;
  const name = {
    ...names as Resource,
    ...firstName ? { givenName: firstName } : {},
    ...lastName ? { familyName: lastName } : {},
  };
  return {
    schemas: [USER, ...ENTERPRISE in attributes ? [ENTERPRISE] : []],
    id,
    ...externalId === null ? {} : { externalId },
    userName: email,
    ...Object.keys(name).length > 0 ? { name } : {},
    active: row.isActive,
    ...derivedOf(row),
    ...others,
    ...groups.length > 0
      ? {
        groups: groups.map((group) => ({
          ...group,
          $ref: `${base}${PATH}/Groups/${group.value}`,
          type: "direct",
        })),
      }
      : {},
    meta: {
      resourceType: "User",
      created: row.createdAt,
      lastModified: row.updatedAt,
      location: `${base}${PATH}/Users/${id}`,
      version: `W/"${row.version}"`,
    },
  };
}

type Derived = Pick<UserRow, "email" | "firstName" | "lastName" | "phoneNumber">;

/** The attributes that follow from the columns as long as the directory gives no others. */
const derivedOf = ({ email, firstName, lastName, phoneNumber }: Derived): Resource => ({
  displayName: `${firstName} ${lastName}`.trim() || email,
  emails: [{ value: email, type: "work", primary: true }],
  ...phoneNumber === null ? {} : { phoneNumbers: [{ value: phoneNumber, type: "work" }] },
});

/**
 * The columns that a resource asks for. Absent members are empty, except that `active` and `externalId` stay.
 * @param present the user before the change; null: a new one
 * @throws invalidValue
 */
export function wantedOf(resource: Resource, present: UserRow | null): WantedUser {
  const { userName: email, name, active, phoneNumbers } = resource;
  const { givenName = "", familyName = "", ...names } = isObject(name) ? name : {};
  if (email === undefined) throw scimProblem("invalidValue", "userName: expected an email address.");
  const isOwnNumber = present !== null && present.attributes.phoneNumbers === undefined; // not the directory's
  const keepsNumber = isOwnNumber && phoneNumbers === undefined ||
    present !== null && isDeepStrictEqual(phoneNumbers, toResource(present, "").phoneNumbers);
  const person = {
    email: validText(mailAddress, email, "userName"),
    firstName: validText(userName, givenName, "name.givenName"),
    lastName: validText(userName, familyName, "name.familyName"),
    phoneNumber: keepsNumber ? present.phoneNumber : numberOf(phoneNumbers),
  };
  return {
    ...person,
    isActive: typeof active === "boolean" ? active : present?.isActive ?? true,
    externalId: externalIdOf(resource) ?? present?.externalId ?? null,
    attributes: storedOf(resource, names, derivedOf(present ?? person)),
  };
}

/** The first international number; a primary one first. Directories also keep internal ones, which the user cannot get. */
function numberOf(values: unknown): string | null {
  const given = Array.isArray(values) ? values.filter(isObject) : [];
  const ordered = [...given.filter(isPrimary), ...given.filter((each) => !isPrimary(each))];
  const numbers = ordered.map(({ value }) => internationalNumber.safeParse(value).data);
  return numbers.find((number) => number !== undefined) ?? null;
}

/** The attributes to keep beside the columns. */
function storedOf(resource: Resource, names: Resource, derived: Resource): Resource {
  const stored: Resource = {};
  for (const [name, value] of Object.entries(resource)) {
    if (IN_COLUMNS.includes(name) || isDeepStrictEqual(value, derived[name])) continue;
    set(stored, name, name !== "name" ? value : Object.keys(names).length > 0 ? names : undefined);
  }
  if (new TextEncoder().encode(JSON.stringify(stored)).length > MAX_BYTES) {
    throw scimProblem("invalidValue", `The user's attributes have more than ${MAX_BYTES} bytes of JSON.`);
  }
  return stored;
}
