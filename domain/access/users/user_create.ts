import { z } from "zod";
import { ACCEPTED_HASHES, hashPassword, isAcceptedHash } from "../../../infra/passwords.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { holds, type TenantCaller } from "../../rights/caller.ts";
import { invalidateCounts } from "../../shared/count_cache.ts";
import { newId } from "../../shared/ids.ts";
import { internationalNumber } from "../../shared/phone_number.ts";
import { givenPhoneNumber, mailAddress, withDefault } from "../../shared/shapes.ts";
import type { Versioned } from "../../shared/version.ts";
import {
  type PasswordOwner,
  type PasswordPlatform,
  requireGoodPassword,
} from "../passwords/password_rules.ts";
import { type Acting, requireMayAssignRoles } from "../roles/escalation.ts";
import { assignments, externalId, lockLinkTargets, requireCapacity, requireTargets } from "./link_targets.ts";
import { insertLinks } from "./links.ts";
import { givenMetadata } from "./metadata.ts";
import { appIds, EXTERNAL_ID, readUser, type User, userName, type UserPlatform } from "./user_details.ts";
import { emitUserCreated } from "./user_events.ts";

/** A user to create. The external id is for the only link. */
export const NewUser = z.object({
  email: mailAddress,
  password: z.string().min(1).max(1024).describe(
    "12 to 128 characters, no common password; with isPasswordEncrypted a hash by argon2, bcrypt, scrypt or PBKDF2",
  ),
  isPasswordEncrypted: withDefault(z.boolean(), false),
  firstName: withDefault(userName, ""),
  lastName: withDefault(userName, ""),
  phoneNumber: givenPhoneNumber.transform((value) => value ?? null).pipe(internationalNumber.nullable()),
  tenants: withDefault(assignments, []),
  appIds: withDefault(appIds, []),
  isActive: withDefault(z.boolean(), true),
  externalId: externalId.describe(`${EXTERNAL_ID}, if the user gets one link`),
  metadata: withDefault(givenMetadata, {}),
}).meta({ id: "CreateUserDto" });
type NewUser = z.output<typeof NewUser>;

/** A new user; without a password, the user signs in by a provider or chooses one by a mailed link. */
type UserToCreate = Omit<NewUser, "password"> & { password: string | null };

/**
 * Creates a user, with or without links to tenants.
 * @param o.audited tenant whose audit log has the row; null: none.
 * @param o.rolesOf tenant whose role names the result shows.
 * @throws VALIDATION_ERROR, TENANT_NOT_FOUND, ROLE_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED,
 * USER_ALREADY_EXISTS (also if a deleted user has the email), TENANT_CAPACITY_REACHED, USER_EXTERNAL_ID_CONFLICT
 */
export async function createUser(
  p: UserPlatform & PasswordPlatform,
  acting: Acting,
  given: UserToCreate,
  o: { audited: string | null; rolesOf: string | null },
): Promise<Versioned<User>> {
  const user = withLinkIds(given);
  const tenantNames = await p.sql<{ name: string }[]>`
    select name from tenants where id = any(${user.tenants.map((link) => link.tenantId)}::uuid[])`;
  const owner = { ...user, tenantNames: tenantNames.map(({ name }) => name) };
  const passwordHash = await storedPassword(p, { ...user, owner });
  return await transact(p.sql, async (tx) => {
    const targets = await lockLinkTargets(tx, user.tenants);
    requireTargets(targets, user.tenants);
    await requireMayAssignRoles(tx, acting, user.tenants.flatMap((link) => link.roleIds));
    const id = newId();
    await tx`insert into users (id, email, password_hash, first_name, last_name, phone_number, app_ids, is_active,
        metadata)
      values (${id}, ${user.email}, ${passwordHash}, ${user.firstName}, ${user.lastName}, ${user.phoneNumber},
        ${user.appIds}::text[], ${user.isActive}, ${JSON.stringify(user.metadata)}::text::jsonb)`;
    requireCapacity(targets, user.tenants.filter((link) => link.isActive).map((link) => link.tenantId));
    await insertLinks(tx, id, user.tenants);
    invalidateCounts(tx);
    const { password: _, isPasswordEncrypted: __, ...after } = user;
    await recordAudit(tx, acting, "user.create", id, { tenantId: o.audited, after });
    await emitUserCreated(p, tx, { id, ...user }, user.tenants);
    return await readUser(tx, id, o.rolesOf);
  });
}

/** The user with its external id in its link. @throws VALIDATION_ERROR if the user has not exactly one link */
function withLinkIds({ externalId, ...user }: UserToCreate): UserToCreate {
  if (externalId === null || externalId === undefined) return user;
  const [link, ...others] = user.tenants;
  if (!link || others.length > 0 || (link.externalId ?? externalId) !== externalId) {
    throw invalid({
      externalId: ["it belongs to a link: expected exactly one, or the ids of several in `tenants`"],
    });
  }
  return { ...user, tenants: [{ ...link, externalId }] };
}

/**
 * Creates a user on behalf of a caller in a tenant. If `tenants` is empty, links the user to the caller's tenant, as
 * default and without roles.
 * @throws CROSS_TENANT_FORBIDDEN (a link to another tenant without manage:all-users), and errors of `createUser`
 */
export async function createTenantUser(
  p: UserPlatform & PasswordPlatform,
  caller: TenantCaller,
  user: NewUser,
): Promise<Versioned<User>> {
  const { tenantId } = caller;
  const foreign = user.tenants.find((link) => link.tenantId !== tenantId);
  if (foreign && !holds(caller, "manage:all-users")) {
    throw problem(
      "CROSS_TENANT_FORBIDDEN",
      `Linking the user to tenant ${foreign.tenantId} needs manage:all-users; the caller acts in ${tenantId}.`,
    );
  }
  const own = { tenantId, roleIds: [], isDefault: true, isActive: true };
  const tenants = user.tenants.length > 0 ? user.tenants : [own];
  return await createUser(p, caller, { ...user, tenants }, { audited: tenantId, rolesOf: tenantId });
}

/**
 * Returns the hash to store for a new user: a given hash unchanged, or the hash of a plain-text password; null without one.
 * @throws VALIDATION_ERROR
 */
async function storedPassword(
  p: PasswordPlatform,
  o: { password: string | null; isPasswordEncrypted: boolean; owner: PasswordOwner },
): Promise<string | null> {
  if (o.password === null) return null;
  if (!o.isPasswordEncrypted) {
    await requireGoodPassword(p, o.password, o.owner);
    return await hashPassword(o.password);
  }
  if (isAcceptedHash(o.password)) return o.password;
  throw invalid({ password: [`isPasswordEncrypted is true; expected ${ACCEPTED_HASHES}`] });
}

/**
 * Creates the first account of a person who has proved their email, with one link to a tenant, in the caller's transaction.
 * @returns the id of the user
 * @throws as `createUser`
 */
export async function createMailedUser(
  p: UserPlatform & PasswordPlatform,
  tx: Tx,
  { tenantId, roleIds, passwordHash, ...names }: {
    tenantId: string;
    roleIds: string[];
    passwordHash: string | null;
    email: string;
    firstName: string;
    lastName: string;
  },
): Promise<string> {
  const user = {
    ...names,
    password: passwordHash,
    isPasswordEncrypted: true,
    phoneNumber: null,
    appIds: [],
    metadata: {},
    isActive: true,
    tenants: [{ tenantId, roleIds, isDefault: true, isActive: true }],
  };
  const { value } = await createUser({ ...p, sql: tx }, null, user, { audited: tenantId, rolesOf: tenantId });
  return value.id;
}
