import { z } from "zod";
import { EXTERNAL_ID, externalIdOfLink } from "../../domain/access/users/user_details.ts";
import { metadataMistake } from "../../domain/access/users/metadata.ts";
import { optionalName } from "../../domain/shared/name.ts";
import { USER_SORTS } from "../../domain/access/users/user_list_parts.ts";
import { deletedAt, listQuery } from "../shared/paging.ts";
import {
  anyObject,
  givenPhoneNumber,
  mailAddress,
  queryBoolean,
  requiredText,
  uuid,
} from "../shared/validation.ts";
import { internationalNumber } from "../../domain/shared/phone_number.ts";

const NIL = "00000000-0000-0000-0000-000000000000";
const timestamp = z.iso.datetime();
const METADATA = "Data that other systems keep about the user, at most 8 KiB of JSON and 10 levels deep";

export const userIdPath = z.object({ id: uuid });
export const userPath = z.object({ userId: uuid });

const lockout = {
  isLockedOut: z.boolean(),
  lockoutExpiresAt: timestamp.nullable().meta({
    description: "End of the lockout; a past instant means that it has expired",
  }),
};
const person = {
  id: z.guid(),
  email: z.string(),
  firstName: z.string(),
  lastName: z.string(),
  phoneNumber: z.string().nullable(),
  isActive: z.boolean(),
  ...lockout,
  hasSecondFactor: z.boolean().meta({ description: "Whether the user has a confirmed second factor" }),
  appIds: z.array(z.string()),
  metadata: anyObject.meta({ description: METADATA }),
};
export const UserDto = z.object({
  ...person,
  roles: z.array(z.string()).meta({ description: "Names of the user's roles in the token's tenant" }),
  externalId: externalIdOfLink,
  lastLoginAt: timestamp.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
  deletedAt,
}).meta({ id: "UserDto" });

export const AdminUserEditDto = z.object({
  ...person,
  lastLoginAt: timestamp.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
  deletedAt,
  tenants: z.array(z.object({
    tenantId: z.guid(),
    roleIds: z.array(z.guid()),
    isDefault: z.boolean(),
    isActive: z.boolean(),
    externalId: externalIdOfLink,
  })),
}).meta({ id: "AdminUserEditDto" });

/** A UUID that identifies something: the nil UUID is refused. */
const namedId = uuid.refine((id) => id !== NIL, { error: "must not be empty" });

const uniqueIds = z.array(namedId).transform((ids) => [...new Set(ids)]);
const atMost50 = { error: "expected at most 50 different ids" };
const optionalBoolean = (fallback: boolean) => z.boolean().nullish().transform((value) => value ?? fallback);

/** Roles of a link, optional. */
const roleIds = uniqueIds.nullish().transform((ids) => ids ?? []).pipe(z.array(z.string()).max(50, atMost50));

/** Roles of a link, at least one. */
const requiredRoleIds = uniqueIds.pipe(
  z.array(z.string()).min(1, { error: "expected at least one id" }).max(50, atMost50),
);

const isDefault = optionalBoolean(false).meta({
  description: "true makes this the user's default tenant; false changes nothing",
});

const externalId = requiredText(200).nullish().meta({ description: EXTERNAL_ID });

export const AddLinkRequest = z.object({ tenantId: namedId, roleIds: requiredRoleIds, isDefault, externalId })
  .meta({ id: "CreateUserTenantAssignmentDto" });

export const AddTenantUserRequest = z.object({
  userId: namedId,
  roleIds: requiredRoleIds,
  isDefault,
  externalId,
})
  .meta({ id: "AddTenantUserDto" });

/** Also takes the roles that the GET answers. */
export const SetRolesRequest = z.preprocess(
  (given) => Array.isArray(given) ? { roleIds: given.map((role) => role?.id) } : given,
  z.object({
    roleIds: uniqueIds.pipe(z.array(z.string()).max(50, atMost50)).meta({ description: "Empty: none" }),
  }).meta({ id: "SetUserRolesDto" }),
);

const assignments = z.array(
  z.object({ tenantId: namedId, roleIds, isDefault, isActive: optionalBoolean(true), externalId }).meta({
    id: "TenantAssignment",
  }),
).max(1_000).superRefine((links, context) => {
  const repeated = links.find((link, at) => links.findIndex((l) => l.tenantId === link.tenantId) !== at);
  if (repeated) context.addIssue(`tenant ${repeated.tenantId} is named more than once`);
  if (links.filter((link) => link.isDefault).length > 1) {
    context.addIssue("at most one link can be the default");
  }
});

const name = optionalName(100);
const metadata = anyObject.superRefine((value, context) => {
  const mistake = metadataMistake(value);
  if (mistake) context.addIssue(mistake);
}).meta({ type: ["object", "null"], description: METADATA, additionalProperties: true });
const appIds = z.array(requiredText(100)).max(100).transform((ids) => [...new Set(ids)]);

export const CreateUserRequest = z.object({
  email: mailAddress,
  password: z.string().min(1).max(1024).meta({
    description:
      "12 to 128 characters, no common password; with isPasswordEncrypted a hash by argon2, bcrypt, scrypt or PBKDF2",
  }),
  isPasswordEncrypted: optionalBoolean(false),
  firstName: name.nullish().transform((value) => value ?? ""),
  lastName: name.nullish().transform((value) => value ?? ""),
  phoneNumber: givenPhoneNumber.transform((value) => value ?? null).pipe(internationalNumber.nullable()),
  tenants: assignments.nullish().transform((links) => links ?? []),
  appIds: appIds.nullish().transform((ids) => ids ?? []),
  isActive: optionalBoolean(true),
  externalId: externalId.meta({ description: `${EXTERNAL_ID}, if the user gets one link` }),
  metadata: metadata.nullish().transform((value) => value ?? {}),
}).meta({ id: "CreateUserDto" });

export const InviteUserRequest = z.object({
  email: mailAddress,
  roleIds: requiredRoleIds,
  firstName: name.nullish().transform((value) => value ?? ""),
  lastName: name.nullish().transform((value) => value ?? ""),
}).meta({ id: "InviteUserDto" });

/** Omitted fields keep their values; null clears a name, the phone number, the applications or the metadata. */
const changes = {
  firstName: name.nullish().transform((value) => value === null ? "" : value),
  lastName: name.nullish().transform((value) => value === null ? "" : value),
  phoneNumber: givenPhoneNumber,
  appIds: appIds.nullish().transform((value) => value === null ? [] : value),
  isActive: z.boolean().nullish().transform((value) => value ?? undefined),
  metadata: metadata.nullish().transform((value) => value === null ? {} : value),
};
export const UpdateUserRequest = z.object({ ...changes, externalId }).meta({ id: "UpdateUserDto" });

export const AdminUpdateUserRequest = z.object({
  ...changes,
  tenants: assignments.nullish().transform((links) => links ?? null).meta({
    description: "null or absent: unchanged; empty: removes all links; otherwise replaces them",
  }),
}).meta({ id: "AdminUpdateUserDto" });

export const usersQuery = {
  ...listQuery(USER_SORTS),
  isActive: queryBoolean.optional(),
  roleName: z.string().normalize("NFC").max(200).optional(),
  isLockedOut: queryBoolean.optional(),
  externalId: z.string().trim().max(200).optional().meta({
    description: "Users with exactly this external id",
  }),
};
