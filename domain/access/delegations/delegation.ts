import { z } from "zod";
import type { Sql, SqlPart } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds, type TenantCaller } from "../../rights/caller.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { readPage } from "../../shared/lists.ts";
import { time } from "../../shared/shapes.ts";

const DELEGATION_STATUSES = ["Requested", "Allowed", "Refused", "Open", "Ended"] as const;

/** One user's permission to act as another one, with its session. */
export const Delegation = z.object({
  id: z.guid(),
  tenantId: z.guid(),
  tenantName: z.string(),
  userId: z.guid().describe("As whom; the same as `actorId`: the actor works in the tenant"),
  userName: z.string(),
  actorId: z.guid(),
  actorName: z.string(),
  reason: z.string(),
  mayWrite: z.boolean(),
  minutes: z.int(),
  status: z.enum(DELEGATION_STATUSES).describe(
    "Requested: the user has not decided. Allowed: the actor may begin. Ended: also by its age",
  ),
  createdAt: time,
  openedAt: time.nullable(),
  expiresAt: time.nullable(),
  endedAt: time.nullable(),
}).meta({ id: "DelegationDto" });
export type Delegation = z.output<typeof Delegation>;

/** A request and its consent are good for a day. */
const DECISION_HOURS = 24;

const name = (q: Sql, user: string) =>
  q.unsafe(`coalesce(nullif(trim(${user}.first_name || ' ' || ${user}.last_name), ''), ${user}.email)`);

const columns = (q: Sql) =>
  q`d.id, d.tenant_id, t.name as tenant_name, d.user_id, ${name(q, "u")} as user_name, d.actor_id,
    ${name(q, "a")} as actor_name, d.reason, d.may_write, d.minutes, d.created_at, d.opened_at, d.expires_at,
    case when d.expires_at <= now() then coalesce(d.ended_at, d.expires_at) else d.ended_at end as ended_at,
    case when d.expires_at <= now()
      or d.opened_at is not null and not exists (select from sessions where id = d.id and revoked_at is null)
      or d.opened_at is null and d.created_at <= now() - make_interval(hours => ${DECISION_HOURS})
      then 'Ended' else d.status end as status`;

const from = (q: Sql, which: SqlPart) =>
  q`delegations d join tenants t on t.id = d.tenant_id join users u on u.id = d.user_id
    join users a on a.id = d.actor_id where ${which}`;

/** Lists the delegations of the caller's tenant, the newest first. */
export const listDelegations = (
  q: Sql,
  { tenantId }: TenantCaller,
  page: PageRequest,
): Promise<PagedResult<Delegation>> =>
  readPage(
    q,
    { columns: columns(q), from: from(q, q`d.tenant_id = ${tenantId}`), order: q`order by d.id desc` },
    page,
  );

/** SQL condition: a session of a tenant's provider sees the delegations in its tenant only. */
const isWithin = (q: Sql, { boundTo }: Pick<Caller, "boundTo">) =>
  boundTo === null ? q`true` : q`d.tenant_id = ${boundTo}`;

/** Lists the delegations that let others act as the caller, the newest first. */
export const listOwnDelegations = (
  q: Sql,
  caller: Pick<Caller, "userId" | "boundTo">,
  page: PageRequest,
): Promise<PagedResult<Delegation>> =>
  readPage(q, {
    columns: columns(q),
    from: from(q, q`${isUserOf(q, caller)} and ${isWithin(q, caller)}`),
    order: q`order by d.id desc`,
  }, page);

/** The members of a caller that tell whether the caller takes part in a delegation. */
export type Party = Pick<Caller, "userId" | "tenantId" | "boundTo" | "permissions">;

const isUserOf = (q: Sql, { userId }: Pick<Caller, "userId">) =>
  q`d.user_id = ${userId} and d.actor_id <> ${userId}`;

/**
 * Reads a delegation that the caller takes part in.
 * @param as the user decides, the actor opens, and both and the tenant's administrators end it
 * @throws DELEGATION_NOT_FOUND
 */
export async function readDelegation(
  q: Sql,
  caller: Party,
  id: string,
  as: "user" | "actor" | "any",
): Promise<Delegation> {
  const isUser = isUserOf(q, caller);
  const isActor = q`d.actor_id = ${caller.userId}`;
  const isTenant = q`d.tenant_id = ${caller.tenantId} and ${holds(caller, "act-as:users")}`;
  const which = { user: isUser, actor: isActor, any: q`(${isUser} or ${isActor} or ${isTenant})` }[as];
  const [row] = await q<Delegation[]>`
    select ${columns(q)} from ${from(q, q`d.id = ${id} and ${which} and ${isWithin(q, caller)}`)}`;
  if (row) return row;
  throw problem("DELEGATION_NOT_FOUND", `The caller takes part in no delegation ${id}.`);
}
