import { isDeepStrictEqual } from "node:util";
import { newId } from "../../../shared/ids.ts";
import { type LockedUser, missingReach } from "../user_details.ts";
import {
  type BulkRow,
  type Existing,
  type FoundTenant,
  type FoundUser,
  type Importer,
  referenceKey,
  roleKey,
  type RowResult,
} from "./find_existing.ts";

const FIELDS = ["firstName", "lastName", "phoneNumber", "isActive", "metadata"] as const;
type Profile = Pick<LockedUser, typeof FIELDS[number]>;

/** The changes to write for one row. */
export interface PlannedUser {
  row: number;
  userId: string;
  tenantId: string;
  email: string;
  /** Password hash of a new user; null: the user exists and keeps their password. */
  created: { passwordHash: string | null } | null;
  profile: Profile;
  /** Former values of the members of an existing user's profile that change. */
  before: Partial<Profile>;
  /** The user's tenants, this one included. */
  tenantIds: string[];
  /** True: the user gets a link to the tenant. */
  isNewLink: boolean;
  /** Absent: the link keeps its external id. */
  externalId: string | undefined;
  formerExternalId: string | null;
  /** Ids of the roles that the user gets and loses in the tenant. */
  given: string[];
  taken: string[];
}

/** The users to write, and the results of all rows. */
interface Plan {
  users: PlannedUser[];
  results: RowResult[];
}

/** A reason why a row fails. */
class RowRefused extends Error {}

/**
 * Decides row by row what to write, by the rules of the routes that create, change and link single users. If a row breaks a
 * rule, only that row fails. No two rows may name the same user.
 * @param linked number of links by tenant that are decided but not written; this function adds the new ones
 */
export function decide(
  importer: Importer,
  existing: Existing,
  rows: BulkRow[],
  linked: Map<string, number>,
): Plan {
  const plan: Plan = { users: [], results: [] };
  const deciding = { importer, existing, taken: new Map<string, number>(), linked };
  for (const row of rows) {
    try {
      const { planned, warnings } = decideRow(deciding, row);
      const isChange = planned.created !== null || hasChanges(planned);
      if (isChange && !planned.created) requireMayUpdate(importer);
      if (isChange) plan.users.push(planned);
      const outcome = planned.created ? "Created" : isChange ? "Updated" : "Unchanged";
      plan.results.push({ row: row.row, email: planned.email, outcome, errors: warnings });
    } catch (refusal) {
      if (!(refusal instanceof RowRefused)) throw refusal;
      const { row: number, email = null } = row;
      plan.results.push({ row: number, email, outcome: "Failed", errors: [refusal.message] });
    }
  }
  return plan;
}

const hasChanges = ({ before, isNewLink, given, taken, externalId, formerExternalId }: PlannedUser) =>
  Object.keys(before).length > 0 || isNewLink || given.length + taken.length > 0 ||
  (externalId !== undefined && externalId !== formerExternalId);

interface Deciding {
  importer: Importer;
  existing: Existing;
  /** Rows by user id, and by tenant and external id. */
  taken: Map<string, number>;
  /** Links that were decided but not written, by tenant. */
  linked: Map<string, number>;
}

function decideRow(d: Deciding, row: BulkRow): { planned: PlannedUser; warnings: string[] } {
  const tenant = d.existing.tenants.get(referenceKey(row.tenant));
  if (!tenant) throw new RowRefused(`TENANT_NOT_FOUND: there is no tenant "${row.tenant}"`);
  const user = findUser(d, row, tenant);
  if (user) claim(d, user.id, row.row, "names the same user as");
  if (row.externalId !== undefined) {
    claim(d, `${tenant.id} ${row.externalId}`, row.row, "has the same externalId as");
  }
  const link = user?.links.find(({ tenantId }) => tenantId === tenant.id);
  const held = link?.roleIds ?? [];
  const wanted = row.roles === undefined ? held : rolesOf(d, tenant, row.roles);
  const given = wanted.filter((id) => !held.includes(id));
  const taken = held.filter((id) => !wanted.includes(id));
  requireMayGrant(d, tenant, row.roles ?? [], given);
  const { profile, before } = profileOf(user, row);
  if (user) requireMayChange(d, user, { tenant, before, profile, given, taken });
  if (!link) requireRoom(d, tenant);
  const warnings = user && row.passwordHash !== undefined
    ? ["passwordHash: not changed, because the user exists"]
    : [];
  const planned = {
    row: row.row,
    userId: user?.id ?? newId(),
    tenantId: tenant.id,
    email: user?.email ?? row.email ?? "",
    created: user ? null : { passwordHash: row.passwordHash ?? null },
    profile,
    before,
    tenantIds: [...new Set([tenant.id, ...user?.links.map(({ tenantId }) => tenantId) ?? []])],
    isNewLink: !link,
    externalId: row.externalId,
    formerExternalId: link?.externalId ?? null,
    given,
    taken,
  };
  return { planned, warnings };
}

/** Finds the user of a row by external id, else by email; null: the row creates a user. */
function findUser(d: Deciding, { row, email, externalId }: BulkRow, tenant: FoundTenant): FoundUser | null {
  const known = d.existing.byExternalId.get(row);
  const owner = d.existing.byEmail.get(row);
  if (known && email !== undefined && owner !== known) {
    throw new RowRefused(
      `USER_EXTERNAL_ID_CONFLICT: the user with externalId ${externalId} has another email; an import changes no emails`,
    );
  }
  const user = known ?? owner;
  if (!user && email === undefined) throw new RowRefused("email: a new user needs one");
  if (!user) return null;
  const isMember = user.links.some(({ tenantId }) => tenantId === tenant.id);
  if (user.isDeleted || !isMember && !changesAllUsers(d.importer)) {
    throw new RowRefused(
      `USER_ALREADY_EXISTS: another or a deleted user has the email; invite the person to ${tenant.name} instead`,
    );
  }
  return user;
}

function claim({ taken }: Deciding, key: string, row: number, what: string): void {
  const other = taken.get(key);
  if (other !== undefined) throw new RowRefused(`the row ${what} row ${other}`);
  taken.set(key, row);
}

function rolesOf({ existing }: Deciding, tenant: FoundTenant, names: string[]): string[] {
  const ids = names.map((name) => {
    const role = existing.roles.get(roleKey(tenant.id, name));
    if (!role) throw new RowRefused(`ROLE_NOT_FOUND: ${tenant.name} has no role "${name}"`);
    return role.id;
  });
  return [...new Set(ids)];
}

const changesAllUsers = ({ permissions }: Importer): boolean =>
  permissions.has("manage:all-users") || permissions.has("admin:system");

/** Creating users needs no more than `create:users`, with which the import was started. */
function requireMayUpdate(importer: Importer): void {
  if (importer.permissions.has("update:users") || changesAllUsers(importer)) return;
  throw new RowRefused("MISSING_PERMISSION: changing an existing user needs update:users");
}

function requireMayGrant(
  { importer, existing }: Deciding,
  tenant: FoundTenant,
  names: string[],
  given: string[],
): void {
  if (importer.permissions.has("admin:system") || given.length === 0) return;
  const roles = names.flatMap((name) => existing.roles.get(roleKey(tenant.id, name)) ?? []);
  const codes = roles.filter(({ id }) => given.includes(id)).flatMap((role) => role.codes);
  const missing = [...new Set(codes.filter((code) => !importer.permissions.has(code)))].sort();
  if (missing.length === 0) return;
  throw new RowRefused(
    `ROLE_ASSIGNMENT_ESCALATION_BLOCKED: the importer does not hold ${missing.join(", ")}`,
  );
}

function profileOf(user: FoundUser | null, row: BulkRow): { profile: Profile; before: Partial<Profile> } {
  const former: Profile = user ??
    { firstName: "", lastName: "", phoneNumber: null, isActive: true, metadata: {} };
  const profile = {
    firstName: row.firstName ?? former.firstName,
    lastName: row.lastName ?? former.lastName,
    phoneNumber: row.phoneNumber ?? former.phoneNumber,
    isActive: row.isActive ?? former.isActive,
    metadata: row.metadata ?? former.metadata,
  };
  const changed = user ? FIELDS.filter((name) => !isDeepStrictEqual(profile[name], former[name])) : [];
  return { profile, before: Object.fromEntries(changed.map((name) => [name, former[name]])) };
}

function requireMayChange(
  { importer }: Deciding,
  user: FoundUser,
  { tenant, before, profile, given, taken }: {
    tenant: FoundTenant;
    before: Partial<Profile>;
    profile: Profile;
    given: string[];
    taken: string[];
  },
): void {
  const changes = Object.keys(before);
  const isElsewhere = user.links.some((link) => link.isActive && link.tenantId !== tenant.id);
  if (changes.length > 0 && isElsewhere && !changesAllUsers(importer)) {
    const names = changes.join(", ");
    throw new RowRefused(
      `CROSS_TENANT_FORBIDDEN: the user is active in other tenants; changing ${names} needs manage:all-users`,
    );
  }
  const deactivates = before.isActive === true && !profile.isActive;
  if (deactivates && user.id === importer.userId) {
    throw new RowRefused("USER_SELF_CONFLICT: the importer cannot deactivate their own user");
  }
  // A decision row by row cannot tell if another system administrator is left.
  if ((deactivates || taken.length > 0) && user.isSystemAdmin) {
    throw new RowRefused(
      "LAST_SYSTEM_ADMIN_CONFLICT: an import neither deactivates holders of admin:system nor takes their roles",
    );
  }
  const changesRoles = tenant.isPlatform && given.length + taken.length > 0;
  const missing = changes.length > 0 || changesRoles ? missingReach(importer.permissions, user.reach) : [];
  if (missing.length > 0) {
    throw new RowRefused(
      `MISSING_PERMISSION: the user holds ${missing.join(", ")}, which the importer does not hold`,
    );
  }
}

function requireRoom({ linked }: Deciding, { id, name, maxUsers, userCount }: FoundTenant): void {
  const earlier = linked.get(id) ?? 0;
  if (maxUsers !== null && userCount + earlier >= maxUsers) {
    throw new RowRefused(`TENANT_CAPACITY_REACHED: ${name} has no room; maxUsers is ${maxUsers}`);
  }
  linked.set(id, earlier + 1);
}
