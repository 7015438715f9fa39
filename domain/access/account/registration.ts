import { z } from "zod";
import { userName } from "../users/user_details.ts";
import { mailDomain, mailKey } from "../../../infra/mail/mail_address.ts";
import { hashPassword } from "../../../infra/passwords.ts";
import { lockNamed } from "../../../infra/postgres/advisory_locks.ts";
import { type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { enqueueJob } from "../../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../../jobs/job_type.ts";
import { sendServiceMail } from "../../notifications/sending/send.ts";
import { invalid, type Problem, problem } from "../../problems/problem.ts";
import { definedMembers } from "../../shared/defined_members.ts";
import { newId } from "../../shared/ids.ts";
import { digest } from "../../shared/secrets.ts";
import { requireGoodPassword } from "../passwords/password_rules.ts";
import type { AccessPlatform, Trace } from "../platform.ts";
import { addressKey } from "../sign_in/address.ts";
import { lockLinkTargets, requireOwnTargets } from "../users/link_targets.ts";
import { createMailedUser } from "../users/user_create.ts";
import { linkMail, mailOwner } from "./owner_mail.ts";
import { markProved } from "./proved_owner.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { domainOfMail, enumName, orReset, uuid, withDefault } from "../../shared/shapes.ts";
import { contentTag, requireTag } from "../../shared/version.ts";
import { requireMayAssignRoles, requireWithinTenant } from "../roles/escalation.ts";

const LIFE_MINUTES = 30;
/** Maximum number of unexpired requests of one network address, for any emails. It limits what a bot can mail to strangers. */
const MAX_LIVE_OF_ADDRESS = 30;
/** Maximum number of unexpired links of one email that one network address asked for. */
const MAX_LIVE_LINKS = 5;
/** Maximum number of unexpired links of one email by all network addresses together. */
const MAX_LIVE_LINKS_OF_EMAIL = 20;

const admits = ({ mode, domains }: Omit<RegistrationSettings, "roleId">, email: string): boolean =>
  mode === "open" || mode === "domain" && domains.includes(mailDomain(email));

/**
 * Requests a link by which a stranger joins a tenant. Only a job looks whether the email may join and has an account, so
 * that neither the answer nor its time reveals it.
 * @throws REGISTRATION_CLOSED_FORBIDDEN, RATE_LIMITED with Retry-After
 */
export async function requestRegistration(
  p: AccessPlatform,
  o: { tenantId: string; email: string; ip: string | null },
): Promise<void> {
  const { mode } = await readRegistrationMode(p.sql, o.tenantId);
  if (mode !== "open" && mode !== "domain") throw registrationClosed(mode);
  const [id, address] = [newId(), addressKey(o.ip)];
  await transact(p.sql, async (tx) => {
    await requireAddressBelowLimit(tx, address);
    await tx`insert into registrations (id, tenant_id, email, address, expires_at)
      values (${id}, ${o.tenantId}, ${o.email}, ${address}, ${inLifeTime(tx)})`;
    await enqueueJob(p, tx, registrationMailJob, { registrationId: id });
  });
}

/** Serializes the requests of the address. @throws RATE_LIMITED */
async function requireAddressBelowLimit(tx: Tx, address: string): Promise<void> {
  await lockNamed(tx, "registrations", address);
  const [over] = await tx<{ seconds: number }[]>`
    select greatest(1, ceil(extract(epoch from min(expires_at) - now())))::int as seconds from registrations
    where address = ${address} and expires_at > now() having count(*) >= ${MAX_LIVE_OF_ADDRESS}`;
  if (!over) return;
  throw problem(
    "RATE_LIMITED",
    `Registration rejected: this address asked for ${MAX_LIVE_OF_ADDRESS} within ${LIFE_MINUTES} minutes.`,
    { headers: { "retry-after": String(over.seconds) } },
  );
}

/** Mails the link of a registration. It works once, within 30 minutes. The email is not in the job's arguments. */
export const registrationMailJob = defineJob({
  name: "steward.registration-mail",
  args: z.object({ registrationId: z.guid() }),
  run: ({ registrationId }, { platform }: JobContext<AccessPlatform>) =>
    mailRegistrationLink(platform, registrationId),
});

async function mailRegistrationLink(p: AccessPlatform, id: string): Promise<void> {
  const [asked] = await p.sql<{ tenantId: string; tenantName: string; email: string; address: string }[]>`
    select r.tenant_id, t.name as tenant_name, r.email, r.address from registrations r
    join tenants t on t.id = r.tenant_id where r.id = ${id} and r.token_hash is null and r.expires_at > now()`;
  if (!asked || !admits(await readRegistrationMode(p.sql, asked.tenantId), asked.email)) return;
  const { email, tenantName } = asked;
  // It has no word of the person who asked for it.
  const { token, mail } = await linkMail(p, {
    to: { address: email, displayName: null },
    tenantId: asked.tenantId,
    templateSlug: "registration",
    link: { name: "registrationUrl", page: "/auth/register" },
    data: { tenantName, expiresInMinutes: LIFE_MINUTES },
    fallback: {
      subject: `Create your account at ${tenantName}`,
      before:
        `Someone, probably you, asked to create an account at ${tenantName} with this address. Go on with the link below; it works once and for ${LIFE_MINUTES} minutes.`,
      action: "Create the account",
      after: "If you did not ask for this, ignore this message: nothing happens.",
    },
  });
  await transact(p.sql, async (tx) => {
    await lockNamed(tx, "registrations", mailKey(email));
    if (!await mayHaveLink(tx, asked)) return;
    const given = await tx`
      update registrations set token_hash = ${digest(token)}, expires_at = ${inLifeTime(tx)}
      where id = ${id} and token_hash is null and expires_at > now()`;
    if (given.count === 0) return;
    // The token of an email with an account is mailed to nobody, but counts for the limits.
    const [holder] = await tx<
      { id: string }[]
    >`select id from users where mail_key(email) = mail_key(${email})`;
    if (holder) await mailOwner(p, tx, { userId: holder.id, kind: "registration-known" });
    else await sendServiceMail(p, tx, mail);
  });
}

/** True if the address may have one more link of the email, whose lock is held. */
async function mayHaveLink(tx: Tx, o: { email: string; address: string }): Promise<boolean> {
  const [live = { own: 0, all: 0 }] = await tx<{ own: number; all: number }[]>`
    select count(*) filter (where address = ${o.address})::int as own, count(*)::int as all from registrations
    where mail_key(email) = mail_key(${o.email}) and token_hash is not null and expires_at > now()`;
  return live.own < MAX_LIVE_LINKS && live.all < MAX_LIVE_LINKS_OF_EMAIL;
}

/** A user and the tenant that they have joined. */
export const JoinedUser = z.object({
  userId: z.guid(),
  email: z.string(),
  tenantId: z.guid(),
  tenantName: z.string(),
});
export type JoinedUser = z.output<typeof JoinedUser>;
export const RegistrationConfirmation = z.object({
  token: z.string().min(1).max(200),
  firstName: withDefault(userName, ""),
  lastName: withDefault(userName, ""),
  password: z.string().min(1).max(1024),
}).meta({ id: "ConfirmRegistrationRequest" });

/** A registration whose link was mailed. */
type PendingRegistration = Omit<JoinedUser, "userId">;

/**
 * Reads the registration of a token.
 * @throws REGISTRATION_TOKEN_INVALID
 */
export async function readRegistration(q: Sql, token: string): Promise<PendingRegistration> {
  const [pending] = await q<PendingRegistration[]>`
    select r.tenant_id, t.name as tenant_name, r.email from registrations r join tenants t on t.id = r.tenant_id
    where r.token_hash = ${digest(token)} and r.expires_at > now()`;
  if (!pending) throw badToken();
  return pending;
}

/**
 * Creates the user of a registration, with a verified email and the role of the tenant's settings. The holder of the link
 * chooses name and password, because somebody else may have asked for the link. Deletes all links of the email.
 * @throws REGISTRATION_TOKEN_INVALID (unknown, used or expired), REGISTRATION_CLOSED_FORBIDDEN (closed since),
 * VALIDATION_ERROR (the password), TENANT_CAPACITY_REACHED, USER_ALREADY_EXISTS (created since)
 */
export async function confirmRegistration(
  p: AccessPlatform,
  o: Trace & z.output<typeof RegistrationConfirmation>,
): Promise<JoinedUser> {
  const { token, firstName, lastName } = o;
  const pending = await readRegistration(p.sql, token); // before hashing, which is too expensive without a valid token
  const { tenantId, tenantName, email } = pending;
  await requireGoodPassword(p, o.password, { email, firstName, lastName, tenantNames: [tenantName] });
  const passwordHash = await hashPassword(o.password);
  return await transact(p.sql, async (tx) => {
    await lockLinkTargets(tx, [{ tenantId, roleIds: [] }]); // so that the settings stay
    const { roleId } = await readRegistrationSettings(tx, tenantId);
    const roleIds = roleId === null ? [] : [roleId];
    await lockLinkTargets(tx, [{ tenantId, roleIds }]); // so that the role gets no platform reach meanwhile
    const used = await tx`delete from registrations
      where token_hash = ${digest(token)} and expires_at > now()`;
    if (used.count === 0) throw badToken();
    const mode = await readRegistrationMode(tx, tenantId);
    if (!admits(mode, email)) throw registrationClosed(mode.mode);
    const user = { email, firstName, lastName, passwordHash, tenantId, roleIds };
    const userId = await createMailedUser(p, tx, user);
    await markProved(tx, userId);
    await tx`delete from registrations where mail_key(email) = mail_key(${email})`;
    const actor = { userId, tenantId, traceId: o.traceId, ip: o.ip };
    await recordAudit(tx, actor, "user.register", userId);
    return { ...pending, userId };
  });
}

const inLifeTime = (tx: Tx) => tx`now() + make_interval(mins => ${LIFE_MINUTES})`;

const badToken = (): Problem =>
  problem(
    "REGISTRATION_TOKEN_INVALID",
    `The account was not created: the token is unknown, was already used, or is older than ${LIFE_MINUTES} minutes.`,
  );

const MODES = ["closed", "invitation", "domain", "open"] as const;

export const RegistrationMode = z.enum(MODES).describe(
  "Who may join the tenant by themselves. closed: nobody, not even by an invitation; invitation: " +
    "who was invited; domain: also who reads the mail of an address with one of the domains; open: everybody",
);

export const RegistrationSettings = z.object({
  mode: RegistrationMode,
  domains: z.array(z.string()).describe("In lower case and ASCII. A subdomain is another domain"),
  roleId: z.guid().nullable().describe("The role that new users get; null: none"),
}).meta({ id: "RegistrationSettingsDto" });
export type RegistrationSettings = z.output<typeof RegistrationSettings>;

export const RegistrationSettingsChange = z.object({
  mode: enumName(MODES),
  domains: orReset(z.array(domainOfMail).max(100).transform((domains) => [...new Set(domains)]), []),
  roleId: uuid.nullish(),
}).meta({ id: "UpdateRegistrationSettingsRequest" });

/** Reads the settings of a tenant; those of a tenant that has set none, and of an unknown one, are `invitation`. */
export async function readRegistrationSettings(q: Sql, tenantId: string): Promise<RegistrationSettings> {
  const [settings] = await q<RegistrationSettings[]>`
    select mode, domains, role_id from registration_settings where tenant_id = ${tenantId}`;
  return settings ?? { mode: "invitation", domains: [], roleId: null };
}

/**
 * Changes the settings of the caller's tenant; members left out stay. The caller must be allowed to assign the role, which
 * never has platform reach: strangers get it.
 * @throws VALIDATION_ERROR, ROLE_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, STEP_UP_REQUIRED_FORBIDDEN, PRECONDITION_FAILED
 */
export async function updateRegistrationSettings(
  sql: Sql,
  caller: TenantCaller,
  change: z.output<typeof RegistrationSettingsChange>,
  ifMatch: string | null,
): Promise<RegistrationSettings> {
  const { tenantId } = caller;
  return await transact(sql, async (tx) => {
    await lockNamed(tx, "registrations", tenantId);
    const before = await readRegistrationSettings(tx, tenantId);
    const after = { ...before, ...definedMembers(change) };
    if (after.mode === "domain" && after.domains.length === 0) {
      throw invalid({ domains: ["expected at least one domain in mode domain"] });
    }
    const link = { tenantId, roleIds: after.roleId === null ? [] : [after.roleId] };
    requireOwnTargets(await lockLinkTargets(tx, [link]), link);
    requireTag(ifMatch, contentTag(before));
    await requireMayAssignRoles(tx, caller, link.roleIds);
    await requireWithinTenant(tx, link.roleIds, "at a registration");
    if (contentTag(after) === contentTag(before)) return before;
    await tx`insert into registration_settings (tenant_id, mode, domains, role_id)
      values (${tenantId}, ${after.mode}, ${after.domains}::text[], ${after.roleId})
      on conflict (tenant_id) do update set mode = excluded.mode, domains = excluded.domains, role_id = excluded.role_id`;
    await recordAudit(tx, caller, "tenant.set-registration", tenantId, { before, after });
    return after;
  });
}

/**
 * The mode in which strangers find a tenant. A tenant that is unknown or not active looks like one that has set nothing.
 * So does one whose role was deleted or has platform reach since: it admits nobody until the settings are changed.
 */
export async function readRegistrationMode(
  q: Sql,
  tenantId: string,
): Promise<Pick<RegistrationSettings, "mode" | "domains">> {
  const [found] = await q<Pick<RegistrationSettings, "mode" | "domains">[]>`
    select s.mode, s.domains from registration_settings s
    join tenants t on t.id = s.tenant_id and t.is_active and t.deleted_at is null
    left join roles r on r.id = s.role_id and r.deleted_at is null
    where s.tenant_id = ${tenantId} and (s.role_id is null or r.id is not null) and not exists (
      select from role_permissions rp join permissions p on p.id = rp.permission_id and p.deleted_at is null
      where rp.role_id = s.role_id and p.reach = 'Platform')`;
  return found ?? { mode: "invitation", domains: [] };
}

/** Checks that invitations to a tenant can be sent and accepted. @throws REGISTRATION_CLOSED_FORBIDDEN */
export async function requireInvitations(q: Sql, tenantId: string): Promise<void> {
  const { mode } = await readRegistrationSettings(q, tenantId);
  if (mode === "closed") throw registrationClosed(mode);
}

const registrationClosed = (mode: RegistrationSettings["mode"]): Problem =>
  problem(
    "REGISTRATION_CLOSED_FORBIDDEN",
    `The tenant's registration is "${mode}", which does not allow this.`,
  );
