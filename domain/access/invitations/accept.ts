import { z } from "zod";
import { hashPassword, verifyPassword } from "../../../infra/passwords.ts";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import type { Caller } from "../../rights/caller.ts";
import { digest } from "../../shared/secrets.ts";
import { hasFactor } from "../../rights/second_factor.ts";
import { markProved } from "../account/proved_owner.ts";
import { type JoinedUser, requireInvitations } from "../account/registration.ts";
import { time } from "../../shared/shapes.ts";
import { wrongFactor } from "../factors/factor_sign_in.ts";
import { type FactorProof, proveFactor, requireOneProof } from "../factors/prove.ts";
import type { AccessPlatform, Trace } from "../platform.ts";
import { requireGoodPassword } from "../passwords/password_rules.ts";
import { addressKey } from "../sign_in/address.ts";
import { countFailedSignIn, requireAddressBelowLimit, requireUnlocked } from "../sign_in/failed_sign_ins.ts";
import { lockLinks, lockLinkTargets } from "../users/link_targets.ts";
import { linkUserToTenant } from "../users/links.ts";
import { createMailedUser } from "../users/user_create.ts";
import { lockUser } from "../users/user_details.ts";
import { permissionsOfRoles } from "../roles/escalation.ts";
import { permissionsNow } from "../../rights/key_rights.ts";
import type { Invitation } from "./invite.ts";

/** An invitation, as the holder of its link sees it. */
export const OfferedInvitation = z.object({
  email: z.string(),
  tenantName: z.string(),
  expiresAt: time,
  account: z.enum(["New", "Password", "SignedIn"]).describe(
    "What accepting needs. New: a password to choose. Password: the password of the account with this " +
      "email. SignedIn: that account has no password, so its owner accepts signed in",
  ),
  hasSecondFactor: z.boolean().describe(
    "True: the password of the account needs a code too; who uses a passkey accepts signed in",
  ),
});

interface OpenInvitation
  extends Pick<Invitation, "id" | "email" | "firstName" | "lastName" | "invitedBy" | "expiresAt"> {
  tenantId: string;
  tenantName: string;
  isTenantActive: boolean;
  roleIds: string[];
}

interface Account {
  id: string;
  email: string;
  isActive: boolean;
  passwordHash: string | null;
  hasSecondFactor: boolean;
  lockedForSeconds: number | null;
}

/**
 * Reads the invitation of a token.
 * @throws INVITATION_INVALID (unknown, used, revoked or expired), INVITATION_INVITER_FORBIDDEN
 */
export async function readOffer(
  q: Sql,
  token: string,
): Promise<z.output<typeof OfferedInvitation> & { tenantId: string }> {
  const open = await readOpen(q, token);
  if (open.isTenantActive) await requireInviter(q, open);
  const { email, tenantId, tenantName, expiresAt } = open;
  const account = await findAccount(q, email);
  const existing = account?.passwordHash === null ? "SignedIn" : "Password";
  return {
    email,
    tenantId,
    tenantName,
    expiresAt,
    account: account ? existing : "New",
    hasSecondFactor: account?.hasSecondFactor ?? false,
  };
}

/**
 * Accepts an invitation. The link proves that the person reads the mail of the address. Without a user of that email, it
 * creates one, and `password` is their new password. Otherwise `password` must be that user's own: a link in a mailbox
 * must not replace a password. A user with a second factor proves it too. Otherwise another person who has added that
 * factor could sign in to the tenant with it. Wrong passwords and codes count as failed sign-ins.
 * @throws INVITATION_INVALID, INVITATION_INVITER_FORBIDDEN, VALIDATION_ERROR (the password, no code), RATE_LIMITED,
 * ACCOUNT_LOCKED_UNAUTHORIZED, CREDENTIALS_INVALID_UNAUTHORIZED, SECOND_FACTOR_INVALID_UNAUTHORIZED, FACTOR_UNAVAILABLE,
 * and errors of `join`
 */
export async function acceptInvitation(
  p: AccessPlatform,
  { token, password, proof, ...origin }: Trace & { token: string; password: string; proof: FactorProof },
): Promise<JoinedUser> {
  const invitation = await readOpen(p.sql, token);
  const account = await findAccount(p.sql, invitation.email);
  if (account) {
    await requirePassword(p, account, password, origin.ip);
    if (account.hasSecondFactor) await requireFactor(p, account.id, proof, origin.ip);
    // Again under the user's lock: concurrent attempts may have reached the lockout while the hash was computed.
    return await join(p, token, account.id, origin, (tx) => requireStillUsable(tx, account, origin.ip));
  }
  await requireGoodPassword(p, password, { ...invitation, tenantNames: [invitation.tenantName] });
  const passwordHash = await hashPassword(password);
  return await transact(p.sql, async (tx) => {
    const open = await close(tx, token);
    const { tenantId, email, firstName, lastName, roleIds } = open;
    const user = { email, firstName, lastName, passwordHash, tenantId, roleIds };
    return await recordAccepted(tx, open, await createMailedUser(p, tx, user), origin);
  });
}

/**
 * Accepts an invitation as the signed-in user, whose email it must name. Like every new link, it ends the user's sessions.
 * @throws INVITATION_INVALID, INVITATION_INVITER_FORBIDDEN, INVITATION_FORBIDDEN (of another email), and errors of `joinTenant`
 */
export async function acceptInvitationAs(
  p: AccessPlatform,
  caller: Caller,
  token: string,
): Promise<JoinedUser> {
  const { email } = await readOpen(p.sql, token);
  const account = await findAccount(p.sql, email);
  if (account?.id !== caller.userId) {
    throw problem("INVITATION_FORBIDDEN", `The invitation is for ${email}, which is not the caller's email.`);
  }
  return await join(p, token, caller.userId, caller);
}

/**
 * Links a user by an invitation.
 * @throws INVITATION_INVALID, TENANT_NOT_FOUND, TENANT_FORBIDDEN (not active), ROLE_NOT_FOUND (deleted since),
 * TENANT_CAPACITY_REACHED, USER_ALREADY_ASSIGNED
 */
async function join(
  p: AccessPlatform,
  token: string,
  userId: string,
  origin: Trace,
  confirm: (tx: Tx) => Promise<void> = async () => {},
): Promise<JoinedUser> {
  return await transact(p.sql, async (tx) => {
    await lockLinks(tx, userId);
    const open = await close(tx, token);
    await lockUser(tx, userId);
    await confirm(tx);
    const { tenantId, roleIds } = open;
    const link = { tenantId, roleIds, isDefault: false, isActive: true };
    await linkUserToTenant({ ...p, sql: tx }, null, userId, link);
    return await recordAccepted(tx, open, userId, origin);
  });
}

/** Closes an open invitation as accepted, so that its token works once. Locks the tenant and the roles first. */
async function close(tx: Tx, token: string): Promise<OpenInvitation> {
  const open = await readOpen(tx, token);
  const { tenants } = await lockLinkTargets(tx, [open]);
  const closed =
    await tx`update invitations set status = 'Accepted', accepted_at = now(), version = version + 1
    where id = ${open.id} and status = 'Pending' and token_hash = ${digest(token)} and expires_at > now()`;
  if (closed.count === 0) throw badToken();
  const tenant = tenants.get(open.tenantId);
  if (!tenant) throw badToken(); // deleted meanwhile
  if (!tenant.isActive) {
    throw problem("TENANT_FORBIDDEN", `The invitation was not accepted: ${open.tenantName} is not active.`);
  }
  await requireInvitations(tx, open.tenantId);
  await requireInviter(tx, open);
  return open;
}

async function recordAccepted(
  tx: Tx,
  { id, email, tenantId, tenantName }: OpenInvitation,
  userId: string,
  { traceId, ip }: Trace,
): Promise<JoinedUser> {
  await markProved(tx, userId);
  await tx`update invitations set accepted_user_id = ${userId} where id = ${id}`;
  await recordAudit(tx, { userId, tenantId, traceId, ip }, "invitation.accept", id, { after: { userId } });
  return { userId, email, tenantId, tenantName };
}

async function readOpen(q: Sql, token: string): Promise<OpenInvitation> {
  const [open] = await q<OpenInvitation[]>`
    select i.id, i.tenant_id, t.name as tenant_name, t.is_active as is_tenant_active, i.email, i.first_name, i.last_name, i.role_ids, i.invited_by, i.expires_at
    from invitations i join tenants t on t.id = i.tenant_id and t.deleted_at is null
    where i.token_hash = ${digest(token)} and i.status = 'Pending' and i.expires_at > now()`;
  if (!open) throw badToken();
  return open;
}

/**
 * Checks that the sender of the newest link may still invite to the tenant and give the roles. Otherwise a user could
 * keep rights in open invitations after losing them. The message does not name the missing permissions, because its reader
 * is not a member of the tenant.
 * @throws INVITATION_INVITER_FORBIDDEN
 */
async function requireInviter(q: Sql, invitation: OpenInvitation): Promise<void> {
  const { tenantId, tenantName, roleIds, invitedBy } = invitation;
  const held = await permissionsNow(q, invitedBy, tenantId);
  if (held.has("admin:system")) return;
  const given = await permissionsOfRoles(q, roleIds);
  if (["create:users", ...given.map(({ code }) => code)].every((code) => held.has(code))) return;
  throw problem(
    "INVITATION_INVITER_FORBIDDEN",
    `The invitation cannot be accepted: its sender may no longer give its roles in ${tenantName}.`,
  );
}

async function findAccount(q: Sql, email: string): Promise<Account | null> {
  const [account] = await q<Account[]>`
    select id, email, is_active, password_hash, ${hasFactor(q, q`users.id`)} as has_second_factor,
      ceil(extract(epoch from lockout_expires_at - now()))::int as locked_for_seconds
    from users where mail_key(email) = mail_key(${email}) and deleted_at is null`;
  return account ?? null;
}

/** Checks the password of an account like a sign-in. */
async function requirePassword(
  p: AccessPlatform,
  account: Account,
  password: string,
  ip: string | null,
): Promise<void> {
  const address = addressKey(ip);
  await requireAddressBelowLimit(p.sql, address);
  requireUnlocked(account);
  const { id, email, passwordHash, isActive } = account;
  if (passwordHash !== null && isActive && await verifyPassword(passwordHash, password)) return;
  const tried = passwordHash !== null && isActive ? { id, email, deviceId: null } : null;
  const isCounted = await countFailedSignIn(p, { address, tried });
  if (!isCounted) requireUnlocked(await findAccount(p.sql, email) ?? account);
  throw wrongPassword();
}

/** Checks a code of an account with a second factor. It is used up, also if the person cannot join. */
async function requireFactor(
  p: AccessPlatform,
  userId: string,
  proof: FactorProof,
  ip: string | null,
): Promise<void> {
  requireOneProof(proof);
  const proved = await transact(p.sql, async (tx) => {
    await lockUser(tx, userId); // so that attempts for one user run one after the other
    return await proveFactor(p, tx, userId, proof);
  });
  if (proved) return;
  await countFailedSignIn(p, { address: addressKey(ip), tried: null });
  throw wrongFactor();
}

async function requireStillUsable(tx: Tx, verified: Account, ip: string | null): Promise<void> {
  await requireAddressBelowLimit(tx, addressKey(ip));
  const account = await findAccount(tx, verified.email);
  if (!account?.isActive || account.passwordHash !== verified.passwordHash) throw wrongPassword();
  if (account.hasSecondFactor && !verified.hasSecondFactor) throw wrongFactor(); // the factor was added during the request
  requireUnlocked(account);
}

const wrongPassword = (): Problem =>
  problem(
    "CREDENTIALS_INVALID_UNAUTHORIZED",
    "The account of this email is not active or has another password.",
  );

const badToken = (): Problem =>
  problem(
    "INVITATION_INVALID",
    "The invitation was not found: the token is unknown, was already used or revoked, or has expired.",
  );
