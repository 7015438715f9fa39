import { z } from "zod";
import { time } from "../../shared/shapes.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { readPage } from "../../shared/lists.ts";
import { type Versioned, versioned } from "../../shared/version.ts";

export const INVITATION_STATUSES = ["Pending", "Expired", "Accepted", "Revoked"] as const;
export type InvitationStatus = typeof INVITATION_STATUSES[number];

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

export interface InvitationListRequest extends PageRequest {
  status?: InvitationStatus | undefined;
  /** In any letter case. */
  email?: string | undefined;
}

const shownStatus = (q: Sql) =>
  q`case when i.status = 'Pending' and i.expires_at <= now() then 'Expired' else i.status::text end`;

/** SQL condition: the invitation is shown with this status. It says the same as `shownStatus`, so that an index serves it. */
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
  q`i.id, i.email, i.first_name, i.last_name, ${
    shownStatus(q)
  } as status, i.invited_by, i.created_at, i.sent_at,
    i.expires_at, i.accepted_at, i.accepted_user_id as user_id,
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

export const invitationNotFound = (id: string): Problem =>
  problem("INVITATION_NOT_FOUND", `The tenant has no invitation ${id}.`);
