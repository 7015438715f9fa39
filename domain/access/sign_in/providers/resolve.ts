import { isMailAddress, mailDomain, mailKey } from "../../../../infra/mail/mail_address.ts";
import { lockNamed } from "../../../../infra/postgres/advisory_locks.ts";
import type { Tx } from "../../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../../audit/audit.ts";
import { type Problem, problem } from "../../../problems/problem.ts";
import { cutText } from "../../../shared/cut_text.ts";
import { markEmailVerified } from "../../account/proved_owner.ts";
import type { AccessPlatform, Trace } from "../../platform.ts";
import { permissionsOfRoles } from "../../roles/escalation.ts";
import { lastAdminRole } from "../../roles/last_admins.ts";
import { lockLinks, lockLinkTargets, requireTargets } from "../../users/link_targets.ts";
import { changeHeldRoles, linkUserToTenant, readHeldRoles } from "../../users/links.ts";
import { createMailedUser } from "../../users/user_create.ts";
import { lockUser } from "../../users/user_details.ts";
import { isVerifiedDomain } from "./domains.ts";
import { type AssertedIdentity, type ProviderRow, readGroupRoles } from "./provider.ts";

/**
 * Returns the id of the user of an identity at a tenant's provider, and sets the user's roles by the groups of the identity.
 * That is the user of the subject, as long as they belong to the tenant. Else it is the tenant's user with the identity's
 * email, if the tenant has proved the email's domain. Else, if the provider creates users, a user of other tenants gets a link,
 * or a new user is created. Nothing here proves the owner of an account outside of the tenant.
 * @param provider locked, so that its settings stay
 * @throws OIDC_EMAIL_UNVERIFIED_FORBIDDEN, SIGN_IN_DOMAIN_FORBIDDEN, OIDC_USER_UNKNOWN_FORBIDDEN, OIDC_IDENTITY_CONFLICT,
 * TENANT_CAPACITY_REACHED
 */
export async function resolveUser(
  p: AccessPlatform,
  tx: Tx,
  provider: ProviderRow,
  identity: AssertedIdentity,
  trace: Trace,
): Promise<string> {
  const { id: providerId, tenantId } = provider;
  const { subject } = identity;
  const [known] = await tx<Candidate[]>`
    select ${candidate(tx, tenantId)} join sign_in_subjects s on s.user_id = u.id
    where s.provider_id = ${providerId} and s.subject = ${subject}`;
  if (known) requireUsable(known);
  if (known?.isLinkActive) {
    await setMappedRoles(p, tx, provider, known.id, identity, trace);
    return known.id;
  }
  const email = await requireProvedEmail(tx, provider, identity);
  await lockNamed(tx, "addedUsers", mailKey(email)); // concurrent first sign-ins find the user of the first
  const [found] = await tx<Candidate[]>`
    select ${candidate(tx, tenantId)} where mail_key(u.email) = mail_key(${email})`;
  if (found) requireUsable(found);
  if (known && known.id !== found?.id) throw otherAccount();
  const userId = found?.isLinkActive
    ? found.id
    : await addUser(p, tx, provider, { ...identity, email }, found?.id ?? null);
  const link = await tx`insert into sign_in_subjects (provider_id, subject, user_id)
    values (${providerId}, ${subject}, ${userId}) on conflict do nothing`;
  if (link.count === 0 && !known && !await isSubjectOf(tx, provider, subject, userId)) throw otherAccount();
  if (link.count > 0) {
    await recordAudit(tx, { userId, tenantId, ...trace }, "user.link-identity", userId, {
      after: { providerId, subject },
    });
  }
  if (found?.isLinkActive) await setMappedRoles(p, tx, provider, userId, identity, trace);
  return userId;
}

/** True if a concurrent sign-in has just linked the subject to the user. */
async function isSubjectOf(tx: Tx, { id }: ProviderRow, subject: string, userId: string): Promise<boolean> {
  const rows = await tx`select from sign_in_subjects
    where provider_id = ${id} and subject = ${subject} and user_id = ${userId}`;
  return rows.length > 0;
}

interface Candidate {
  id: string;
  isUsable: boolean;
  /** Null: no link to the tenant. */
  isLinkActive: boolean | null;
}

const candidate = (tx: Tx, tenantId: string) =>
  tx`u.id, u.is_active and u.deleted_at is null as is_usable, l.is_active as is_link_active
    from users u left join user_tenants l on l.user_id = u.id and l.tenant_id = ${tenantId}`;

/** Refuses a user who was deactivated or deleted, here or in the tenant, however the provider still knows them. */
function requireUsable({ isUsable, isLinkActive }: Candidate): void {
  if (!isUsable || isLinkActive === false) {
    throw unknownUser("The user of this identity is not active in the tenant.");
  }
}

async function requireProvedEmail(
  tx: Tx,
  { tenantId }: ProviderRow,
  { email, isEmailVerified }: AssertedIdentity,
): Promise<string> {
  if (!email || !isMailAddress(email) || !isEmailVerified) {
    const found = !email ? "none" : isEmailVerified ? `"${email}"` : `${email}, which it has not verified`;
    throw problem(
      "OIDC_EMAIL_UNVERIFIED_FORBIDDEN",
      `Expected an email address from the provider; found ${found}.`,
    );
  }
  if (await isVerifiedDomain(tx, tenantId, mailDomain(email))) return email;
  throw problem(
    "SIGN_IN_DOMAIN_FORBIDDEN",
    `Expected an email of a domain that the tenant has verified; found ${email}.`,
  );
}

/** Links a user of other tenants, or creates a user. The link never becomes the user's default. */
async function addUser(
  p: AccessPlatform,
  tx: Tx,
  provider: ProviderRow,
  identity: AssertedIdentity & { email: string },
  presentId: string | null,
): Promise<string> {
  const { tenantId, createsUsers, roleId } = provider;
  const { email, firstName, lastName } = identity;
  if (!createsUsers) throw unknownUser(`The tenant has no user with the email ${email}.`);
  if (presentId !== null) await lockLinks(tx, presentId);
  const mapped = (await readMappedRoles(tx, provider, identity))?.wanted ?? [];
  const roleIds = [...new Set([...roleId === null ? [] : [roleId], ...mapped])];
  await requireGivable(tx, tenantId, roleIds);
  if (presentId !== null) {
    const link = { tenantId, roleIds, isDefault: false, isActive: true };
    await linkUserToTenant({ ...p, sql: tx }, null, presentId, link);
    return presentId;
  }
  const id = await createMailedUser(p, tx, {
    email,
    firstName: cutText(firstName, 100),
    lastName: cutText(lastName, 100),
    passwordHash: null,
    tenantId,
    roleIds,
  });
  await markEmailVerified(tx, id);
  return id;
}

/** Locks the tenant and the roles. Checks that a sign-in may give them. @throws OIDC_USER_UNKNOWN_FORBIDDEN */
async function requireGivable(tx: Tx, tenantId: string, roleIds: string[]): Promise<void> {
  const link = { tenantId, roleIds };
  const targets = await lockLinkTargets(tx, [link]);
  const beyond = (await permissionsOfRoles(tx, roleIds)).some(({ reach }) => reach === "Platform");
  try {
    requireTargets(targets, [link]);
  } catch {
    throw unknownUser("The role that the provider gives was deleted.");
  }
  if (beyond) throw unknownUser("The role that the provider gives has platform reach.");
}

/** The tenant's roles that are groups, and those of them that the identity's groups name. */
interface MappedRoles {
  all: string[];
  wanted: string[];
}

async function readMappedRoles(
  tx: Tx,
  { tenantId, claims }: ProviderRow,
  { groups }: AssertedIdentity,
): Promise<MappedRoles | null> {
  if (claims.groups === null || groups === null) return null;
  const roles = await readGroupRoles(tx, tenantId, groups);
  const idsOf = (which: typeof roles) => which.map(({ id }) => id);
  return { all: idsOf(roles), wanted: idsOf(roles.filter(({ isNamed }) => isNamed)) };
}

/**
 * Sets the roles of a linked user by the identity's groups. These roles stay: those that are no groups, the provider's own,
 * and the role of the tenant's last administrator.
 */
async function setMappedRoles(
  p: AccessPlatform,
  tx: Tx,
  provider: ProviderRow,
  userId: string,
  identity: AssertedIdentity,
  trace: Trace,
): Promise<void> {
  const { tenantId } = provider;
  const before = await readMappedRoles(tx, provider, identity);
  if (!before || !hasChange(await compareRoles(tx, provider, userId, before))) return;
  await lockLinks(tx, userId);
  await lockLinkTargets(tx, [{ tenantId, roleIds: before.all }]);
  await lockUser(tx, userId);
  const mapped = await readMappedRoles(tx, provider, identity); // others may have changed roles meanwhile
  if (!mapped) return;
  const { held, given, taken: due } = await compareRoles(tx, provider, userId, mapped);
  const kept = await lastAdminRole(tx, tenantId, userId);
  const taken = due.filter((id) => id !== kept);
  if (!hasChange({ given, taken })) return;
  await changeHeldRoles(p, tx, { userId, tenantId, ...trace }, { userId, tenantId, held, given, taken });
}

const hasChange = ({ given, taken }: { given: string[]; taken: string[] }): boolean =>
  given.length + taken.length > 0;

async function compareRoles(tx: Tx, provider: ProviderRow, userId: string, { all, wanted }: MappedRoles) {
  const held = await readHeldRoles(tx, userId, provider.tenantId);
  const given = wanted.filter((id) => !held.includes(id));
  const taken = held.filter((id) => all.includes(id) && !wanted.includes(id) && id !== provider.roleId);
  return { held, given, taken };
}

const unknownUser = (detail: string): Problem => problem("OIDC_USER_UNKNOWN_FORBIDDEN", detail);

export const otherAccount = (): Problem =>
  problem(
    "OIDC_IDENTITY_CONFLICT",
    "The user with this email is already linked to another account at this provider.",
  );
