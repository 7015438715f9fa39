import { z } from "zod";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { sendServiceMail } from "../../notifications/sending/send.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { fullName } from "../../rights/user_lookup.ts";
import { newId } from "../../shared/ids.ts";
import { readPage } from "../../shared/lists.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { digest } from "../../shared/secrets.ts";
import { mailAddress, time, withDefault } from "../../shared/shapes.ts";
import { requireVersion, type Versioned, versioned } from "../../shared/version.ts";
import { linkMail } from "../account/owner_mail.ts";
import { requireInvitations } from "../account/registration.ts";
import type { AccessPlatform } from "../platform.ts";
import { requireMayAssignRoles } from "../roles/escalation.ts";
import {
  lockLinkTargets,
  requireCapacity,
  requiredRoleIds,
  requireOwnTargets,
} from "../users/link_targets.ts";
import { userName } from "../users/user_details.ts";

/** Whom to invite, and the roles they get. */
export const NewInvitation = z.object({
  email: mailAddress,
  roleIds: requiredRoleIds,
  firstName: withDefault(userName, ""),
  lastName: withDefault(userName, ""),
}).meta({ id: "InviteUserDto" });
type NewInvitation = z.output<typeof NewInvitation>;

/**
 * Invites a person to the caller's tenant by mail. Does not look for a user with that email outside the tenant, so the
 * answer reveals nothing about other tenants. An expired invitation of the same email is replaced.
 * @throws ROLE_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, STEP_UP_REQUIRED_FORBIDDEN, USER_ALREADY_ASSIGNED (a user of
 * the tenant has the email), TENANT_CAPACITY_REACHED, INVITATION_ALREADY_EXISTS (one is open), REGISTRATION_CLOSED_FORBIDDEN
 */
export async function inviteUser(
  p: AccessPlatform,
  caller: TenantCaller,
  input: NewInvitation,
): Promise<Invitation> {
  const { tenantId } = caller;
  const { email, roleIds, firstName, lastName } = input;
  const { token, mail } = await newInvitationMail(p, { ...input, tenantId });
  return await transact(p.sql, async (tx) => {
    const link = { tenantId, roleIds };
    const targets = await lockLinkTargets(tx, [link]);
    requireOwnTargets(targets, link);
    await requireInvitations(tx, tenantId);
    await requireMayAssignRoles(tx, caller, roleIds);
    await requireNoMember(tx, tenantId, email);
    requireCapacity(targets, [tenantId]);
    await tx`update invitations set status = 'Expired', version = version + 1
      where tenant_id = ${tenantId} and mail_key(email) = mail_key(${email}) and status = 'Pending' and expires_at <= now()`;
    const id = newId();
    await tx`insert into invitations (id, tenant_id, email, first_name, last_name, role_ids, invited_by, token_hash,
        expires_at)
      values (${id}, ${tenantId}, ${email}, ${firstName}, ${lastName}, ${roleIds}::uuid[], ${caller.userId},
        ${digest(token)}, now() + make_interval(days => ${LIFE_DAYS}))`;
    await sendServiceMail(p, tx, mail);
    await recordAudit(tx, caller, "invitation.create", id, { after: input });
    return (await readInvitation(tx, tenantId, id)).value;
  });
}

async function requireNoMember(tx: Tx, tenantId: string, email: string): Promise<void> {
  const [member] = await tx`
    select from users u join user_tenants l on l.user_id = u.id and l.tenant_id = ${tenantId}
    where mail_key(u.email) = mail_key(${email}) and u.deleted_at is null`;
  if (!member) return;
  throw problem("USER_ALREADY_ASSIGNED", `${email} was not invited: a user of the tenant has this email.`);
}

/** Locks a pending invitation, also an expired one. Throws INVITATION_NOT_FOUND, INVITATION_CLOSED_CONFLICT. */
async function lockPending(tx: Tx, tenantId: string, id: string, attempt: string) {
  const [found] = await tx<{ email: string; status: string; version: number }[]>`
    select email, status, version from invitations where id = ${id} and tenant_id = ${tenantId} for no key update`;
  if (!found) throw invitationNotFound(id);
  if (found.status === "Pending") return found;
  throw problem(
    "INVITATION_CLOSED_CONFLICT",
    `Invitation ${id} was not ${attempt}: its status is ${found.status}, which is final.`,
  );
}

/**
 * Mails a new link, which is valid for seven days again; the former link stops working. The caller must be allowed to
 * grant the roles, as for a new invitation, and is the inviter from now on.
 * @throws INVITATION_NOT_FOUND, INVITATION_CLOSED_CONFLICT, ROLE_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED,
 * STEP_UP_REQUIRED_FORBIDDEN, REGISTRATION_CLOSED_FORBIDDEN
 */
export async function resendInvitation(
  p: AccessPlatform,
  caller: TenantCaller,
  id: string,
): Promise<Versioned<Invitation>> {
  const { tenantId } = caller;
  const [invited] = await p.sql<NewInvitation[]>`
    select email, first_name, last_name, role_ids from invitations where id = ${id} and tenant_id = ${tenantId}`;
  if (!invited) throw invitationNotFound(id);
  const { token, mail } = await newInvitationMail(p, { ...invited, tenantId });
  return await transact(p.sql, async (tx) => {
    const link = { tenantId, roleIds: invited.roleIds }; // no route changes email and roles of an invitation
    const targets = await lockLinkTargets(tx, [link]);
    await lockPending(tx, tenantId, id, "sent again");
    requireOwnTargets(targets, link);
    await requireInvitations(tx, tenantId);
    await requireMayAssignRoles(tx, caller, link.roleIds);
    await tx`update invitations set token_hash = ${digest(token)}, sent_at = now(), version = version + 1,
      invited_by = ${caller.userId}, expires_at = now() + make_interval(days => ${LIFE_DAYS}) where id = ${id}`;
    await sendServiceMail(p, tx, mail);
    await recordAudit(tx, caller, "invitation.resend", id);
    return await readInvitation(tx, tenantId, id);
  });
}

/**
 * Revokes an invitation: its link stops working.
 * @throws INVITATION_NOT_FOUND, PRECONDITION_FAILED, INVITATION_CLOSED_CONFLICT
 */
export async function revokeInvitation(
  p: Pick<AccessPlatform, "sql">,
  caller: TenantCaller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const { email, version } = await lockPending(tx, caller.tenantId, id, "revoked");
    requireVersion(ifMatch, version);
    await tx`update invitations set status = 'Revoked', version = version + 1 where id = ${id}`;
    await recordAudit(tx, caller, "invitation.revoke", id, { before: { email } });
  });
}

/** Lifetime of the link of an invitation. */
const LIFE_DAYS = 7;

/** Makes a token and the mail with its link, in the language of the tenant. */
async function newInvitationMail(
  p: AccessPlatform,
  { tenantId, ...person }: { tenantId: string; email: string; firstName: string; lastName: string },
) {
  const [tenant] = await p.sql<{ name: string }[]>`select name from tenants where id = ${tenantId}`;
  const tenantName = tenant?.name ?? "";
  return await linkMail(p, {
    to: { address: person.email, displayName: fullName(person) },
    tenantId,
    templateSlug: "invitation",
    link: { name: "invitationUrl", page: "/auth/invitation", configured: p.config.INVITATION_URL },
    data: { tenantName, firstName: person.firstName || null, expiresInDays: LIFE_DAYS },
    fallback: {
      subject: `Invitation to ${tenantName}`,
      before:
        `You are invited to ${tenantName}. Accept with the link below; it works once and for ${LIFE_DAYS} days.`,
      action: "Accept the invitation",
      after: "If you do not know why you got this, ignore this message: nothing happens.",
    },
  });
}

export const INVITATION_STATUSES = ["Pending", "Expired", "Accepted", "Revoked"] as const;
type InvitationStatus = typeof INVITATION_STATUSES[number];

/** An invitation of a person to the tenant. Only a hash of its token is stored. */
export const Invitation = z.object({
  id: z.guid(),
  email: z.string(),
  firstName: z.string(),
  lastName: z.string(),
  // The roles that still exist, by name.
  roles: z.array(z.object({ id: z.guid(), name: z.string() })),
  status: z.enum(INVITATION_STATUSES),
  // The user or service account that sent the newest link. It must still be allowed to when the link is used.
  invitedBy: z.guid(),
  createdAt: time,
  sentAt: time.describe("When the newest link was mailed"),
  expiresAt: time,
  acceptedAt: time.nullable(),
  userId: z.guid().nullable().describe("The user who accepted"),
}).meta({ id: "InvitationDto" });
export type Invitation = z.output<typeof Invitation>;

interface InvitationListRequest extends PageRequest {
  status?: InvitationStatus | undefined;
  /** In any letter case. */
  email?: string | undefined;
}

/** SQL condition: the invitation is shown with this status. It says the same as `columns`, so that an index serves it. */
function hasStatus(q: Sql, status: InvitationStatus) {
  switch (status) {
    case "Pending":
      return q`i.status = 'Pending' and i.expires_at > now()`;
    case "Expired": // one is stored as Expired only after it has expired
      return q`i.status in ('Pending', 'Expired') and i.expires_at <= now()`;
    default:
      return q`i.status = ${q.unsafe(`'${status}'`)}`;
  }
}

const columns = (q: Sql) =>
  q`i.id, i.email, i.first_name, i.last_name,
    case when i.status = 'Pending' and i.expires_at <= now() then 'Expired' else i.status::text end as status,
    i.invited_by, i.created_at, i.sent_at, i.expires_at, i.accepted_at, i.accepted_user_id as user_id,
    coalesce((select jsonb_agg(jsonb_build_object('id', r.id, 'name', r.name) order by same_text(r.name))
      from roles r where r.id = any(i.role_ids) and r.deleted_at is null), '[]') as roles`;

/** Lists the tenant's invitations, newest first. */
export async function listInvitations(
  q: Sql,
  tenantId: string,
  { status, email, ...page }: InvitationListRequest,
): Promise<PagedResult<Invitation>> {
  const ofStatus = status === undefined ? q`true` : hasStatus(q, status);
  const ofEmail = email === undefined ? q`true` : q`mail_key(i.email) = mail_key(${email})`;
  const from = q`invitations i where i.tenant_id = ${tenantId} and ${ofStatus} and ${ofEmail}`;
  return await readPage(q, { columns: columns(q), from, order: q`order by i.id desc` }, page);
}

/** Reads an invitation of the tenant. Throws INVITATION_NOT_FOUND. */
export async function readInvitation(q: Sql, tenantId: string, id: string): Promise<Versioned<Invitation>> {
  const [row] = await q<(Invitation & { version: number })[]>`
    select ${columns(q)}, i.version from invitations i where i.id = ${id} and i.tenant_id = ${tenantId}`;
  return versioned(row, () => invitationNotFound(id));
}

const invitationNotFound = (id: string): Problem =>
  problem("INVITATION_NOT_FOUND", `The tenant has no invitation ${id}.`);
