import { z } from "zod";
import { type Sql, type SqlPart, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { ACCESS_TOKEN_SECONDS } from "../../../infra/tokens.ts";
import { type Actor, recordAudit } from "../../audit/audit.ts";
import { problem } from "../../problems/problem.ts";
import { type Caller, holds, isSystemAdmin, type TenantCaller } from "../../rights/caller.ts";
import { permissionCodes } from "../../rights/held_permissions.ts";
import { securityVersionOf } from "../../rights/security_version.ts";
import { nameOrEmail, requireUnerased } from "../../rights/user_lookup.ts";
import { newId } from "../../shared/ids.ts";
import { readPage } from "../../shared/lists.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { requiredName, time } from "../../shared/shapes.ts";
import { mailOwner } from "../account/owner_mail.ts";
import type { AccessPlatform } from "../platform.ts";
import { tenantNotFound } from "../tenant_not_found.ts";
import { requireTheirReach, userNotFound } from "../users/user_details.ts";

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

/** A delegation and, if it is open and the caller is its actor, the token of its session. */
export const OpenedDelegation = z.object({
  delegation: Delegation,
  accessToken: z.string().nullable().describe(
    "Acts as the user, for at most 15 minutes; its claim `act` names the actor. Null: the user must consent",
  ),
}).meta({ id: "OpenedDelegationDto" });
type OpenedDelegation = z.output<typeof OpenedDelegation>;

export const NewDelegation = z.object({
  reason: requiredName(500).describe("The user and the audit log show it"),
  minutes: z.int().min(1).max(60).default(60),
  mayWrite: z.boolean().default(false),
}).meta({ id: "DelegationRequest" });
type NewDelegation = z.output<typeof NewDelegation>;

/**
 * Lets the caller act as a user of the tenant. Opens the session at once, or asks the user if the tenant requires consent.
 * @throws USER_NOT_FOUND, DELEGATION_FORBIDDEN (by the tenant), MISSING_PERMISSION (the user holds more than the caller),
 * USER_SELF_CONFLICT
 */
export async function actAs(
  p: AccessPlatform,
  caller: TenantCaller,
  userId: string,
  o: NewDelegation,
): Promise<OpenedDelegation> {
  if (userId === caller.userId) {
    throw problem("USER_SELF_CONFLICT", "The caller cannot act as themselves.");
  }
  return await transact(p.sql, async (tx) => {
    const policy = await requireMayActAs(tx, caller, userId);
    const status = policy === "consent" ? "Requested" : "Allowed";
    const id = await insertDelegation(tx, caller, { ...o, userId, tenantId: caller.tenantId, status });
    if (status === "Allowed") return await open(p, tx, caller, id);
    const delegation = await readDelegation(tx, caller, id, "actor");
    await mailOwner(p, tx, { userId, kind: "act-as-requested", details: detailsOf(delegation) });
    return { delegation, accessToken: null };
  });
}

/** Lets a system administrator work in a tenant without a link to it. @throws TENANT_NOT_FOUND, SECOND_FACTOR_REQUIRED */
export async function workInTenant(
  p: AccessPlatform,
  caller: Caller,
  tenantId: string,
  o: NewDelegation,
): Promise<OpenedDelegation> {
  return await transact(p.sql, async (tx) => {
    const [tenant] =
      await tx`select from tenants where id = ${tenantId} and is_active and deleted_at is null`;
    if (!tenant) throw tenantNotFound(tenantId);
    const row = { ...o, userId: caller.userId, tenantId, status: "Allowed" };
    return await open(p, tx, caller, await insertDelegation(tx, caller, row));
  });
}

/**
 * Opens the session of a delegation that the user has allowed; for an open one, issues another token.
 * @throws DELEGATION_NOT_FOUND, DELEGATION_STATE_CONFLICT, SECOND_FACTOR_REQUIRED, and see `actAs`
 */
export async function openDelegation(
  p: AccessPlatform,
  caller: Caller,
  id: string,
): Promise<OpenedDelegation> {
  return await transact(p.sql, (tx) => open(p, tx, caller, id));
}

/** Records the user's answer to a request. @throws DELEGATION_NOT_FOUND, DELEGATION_STATE_CONFLICT */
export async function decideDelegation(
  p: AccessPlatform,
  caller: Caller,
  id: string,
  isAllowed: boolean,
): Promise<Delegation> {
  return await transact(p.sql, async (tx) => {
    const delegation = await lock(tx, caller, id, "user");
    if (delegation.status !== "Requested") throw wrongState(delegation);
    const status = isAllowed ? "Allowed" : "Refused";
    await tx`update delegations set status = ${status}, decided_at = now() where id = ${id}`;
    await audit(tx, caller, isAllowed ? "allow" : "refuse", delegation);
    return { ...delegation, status };
  });
}

/** Ends a delegation and its session. Does nothing if it has ended. @throws DELEGATION_NOT_FOUND */
export async function endDelegation(
  p: Pick<AccessPlatform, "sql" | "rights">,
  caller: Party & NonNullable<Actor>,
  id: string,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const delegation = await lock(tx, caller, id, "any");
    if (delegation.status === "Ended" || delegation.status === "Refused") return;
    await tx`update delegations set status = 'Ended', ended_at = now() where id = ${id}`;
    await tx`update sessions set revoked_at = now(), revoked_reason = 'delegation ended'
      where id = ${id} and revoked_at is null`;
    p.rights.invalidateAfterCommit(tx, [delegation.userId]);
    await audit(tx, caller, "end", delegation);
  });
}

async function insertDelegation(
  tx: Tx,
  { userId: actorId }: Caller,
  { reason, minutes, mayWrite, userId, tenantId, status }: NewDelegation & {
    userId: string;
    tenantId: string;
    status: string;
  },
): Promise<string> {
  const id = newId();
  await requireUnerased(tx, actorId);
  await tx`insert into delegations (id, tenant_id, user_id, actor_id, reason, may_write, minutes, status)
    values (${id}, ${tenantId}, ${userId}, ${actorId}, ${reason}, ${mayWrite}, ${minutes}, ${status})`;
  return id;
}

/** Opens the session: it has the actor's sign-in, the rights of the user, and ends with the actor's own session. */
async function open(p: AccessPlatform, tx: Tx, caller: Caller, id: string): Promise<OpenedDelegation> {
  const delegation = await lock(tx, caller, id, "actor");
  const { userId, tenantId, minutes, mayWrite, status } = delegation;
  const isVisit = userId === caller.userId;
  if (isVisit ? !isSystemAdmin(caller) : caller.tenantId !== tenantId) throw wrongState(delegation);
  if (!isVisit) await requireMayActAs(tx, { ...caller, tenantId }, userId);
  if (status === "Allowed") {
    await tx`update delegations set status = 'Open', opened_at = now(),
      expires_at = now() + make_interval(mins => ${minutes}) where id = ${id}`;
    await tx`insert into sessions (id, user_id, security_version, expires_at, amr, authenticated_at, ip, user_agent,
        only_tenant_id, actor_id, actor_session_id, may_write, provider_id)
      select ${id}, u.id, ${securityVersionOf(tx)}, now() + make_interval(mins => ${minutes}),
        s.amr, s.authenticated_at, s.ip, s.user_agent, ${tenantId}, ${caller.userId}, s.id, ${mayWrite}, s.provider_id
      from users u, sessions s where u.id = ${userId} and s.id = ${caller.sessionId}`;
    await audit(tx, caller, "open", delegation);
    if (!isVisit) {
      await mailOwner(p, tx, { userId, kind: "act-as-opened", details: detailsOf(delegation) });
    }
  } else if (status !== "Open") throw wrongState(delegation);
  const [session] = await tx<{ ver: number; seconds: number }[]>`
    select security_version as ver, extract(epoch from expires_at - now())::int as seconds from sessions
    where id = ${id} and revoked_at is null and expires_at > now()`;
  if (!session) throw wrongState(delegation);
  const { proof } = await p.rights.readUncached(tx, { userId, sessionId: id, tenantId });
  if (proof.isLimited) {
    throw problem(
      "SECOND_FACTOR_REQUIRED",
      `Tenant ${tenantId} requires a second factor, which the sign-in of the caller lacks.`,
    );
  }
  const accessToken = await p.tokens.sign({
    sub: userId,
    sid: id,
    tenantId,
    ver: session.ver,
    act: caller.userId,
    lifeSeconds: Math.min(ACCESS_TOKEN_SECONDS, session.seconds),
  });
  return { delegation: await readDelegation(tx, caller, id, "actor"), accessToken };
}

/**
 * Checks that the caller may act as a user now. Nobody acts as a user who holds more than they do.
 * @returns the policy of the tenant
 */
async function requireMayActAs(tx: Tx, caller: TenantCaller, userId: string): Promise<"allowed" | "consent"> {
  const { tenantId } = caller;
  if (!holds(caller, "act-as:users")) {
    throw problem(
      "MISSING_PERMISSION",
      "Acting as a user needs act-as:users, which the caller does not hold.",
    );
  }
  const [found] = await tx<{ actAs: "allowed" | "consent" | "forbidden" }[]>`
    select t.act_as from user_tenants l join tenants t on t.id = l.tenant_id join users u on u.id = l.user_id
    where l.tenant_id = ${tenantId} and l.user_id = ${userId} and l.is_active and u.is_active and u.deleted_at is null
    for share of u`;
  if (!found) throw userNotFound(userId);
  if (found.actAs === "forbidden") {
    throw problem("DELEGATION_FORBIDDEN", `Tenant ${tenantId} does not let anyone act as its users.`);
  }
  await requireTheirReach(tx, caller, userId, null);
  const held = await tx<{ code: string }[]>`${permissionCodes(tx, userId, tenantId)}`;
  const missing = held.filter(({ code }) => !holds(caller, code));
  if (missing.length === 0) return found.actAs;
  throw problem(
    "MISSING_PERMISSION",
    `User ${userId} holds ${missing.map(({ code }) => code).join(", ")}, which the caller does not hold.`,
  );
}

async function lock(tx: Tx, caller: Party, id: string, as: "user" | "actor" | "any"): Promise<Delegation> {
  await tx`select from delegations where id = ${id} for no key update`;
  return await readDelegation(tx, caller, id, as);
}

const wrongState = ({ id, status }: Delegation) =>
  problem("DELEGATION_STATE_CONFLICT", `The delegation ${id} is ${status}, so this is not possible here.`);

const detailsOf = ({ actorName, tenantName, reason }: Delegation): string =>
  `${actorName} (${tenantName}): ${reason}`;

const audit = (tx: Tx, caller: Actor, verb: string, d: Delegation): Promise<void> =>
  recordAudit(tx, caller, `user.act-as-${verb}`, d.userId, {
    tenantId: d.tenantId,
    after: {
      delegationId: d.id,
      actorId: d.actorId,
      reason: d.reason,
      minutes: d.minutes,
      mayWrite: d.mayWrite,
    },
  });

/** A request and its consent are good for a day. */
const DECISION_HOURS = 24;

const columns = (q: Sql) =>
  q`d.id, d.tenant_id, t.name as tenant_name, d.user_id, ${nameOrEmail(q, "u")} as user_name, d.actor_id,
    ${
    nameOrEmail(q, "a")
  } as actor_name, d.reason, d.may_write, d.minutes, d.created_at, d.opened_at, d.expires_at,
    case when d.expires_at <= now() then coalesce(d.ended_at, d.expires_at) else d.ended_at end as ended_at,
    case when d.expires_at <= now()
      or d.opened_at is not null and not exists (select from sessions where id = d.id and revoked_at is null)
      or d.opened_at is null and d.created_at <= now() - make_interval(hours => ${DECISION_HOURS})
      then 'Ended' else d.status end as status`;

/** A count does not read the tables of left joins by their key; they have a row for each delegation. */
const from = (q: Sql, which: SqlPart) =>
  q`delegations d left join tenants t on t.id = d.tenant_id left join users u on u.id = d.user_id
    left join users a on a.id = d.actor_id where ${which}`;

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
type Party = Pick<Caller, "userId" | "tenantId" | "boundTo" | "permissions">;

const isUserOf = (q: Sql, { userId }: Pick<Caller, "userId">) =>
  q`d.user_id = ${userId} and d.actor_id <> ${userId}`;

/**
 * Reads a delegation that the caller takes part in.
 * @param as the user decides, the actor opens, and both and the tenant's administrators end it
 * @throws DELEGATION_NOT_FOUND
 */
async function readDelegation(
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
