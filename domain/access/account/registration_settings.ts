import { z } from "zod";
import { type Sql, transact } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { domainOfMail, enumName, uuid } from "../../shared/shapes.ts";
import { contentTag, requireTag } from "../../shared/version.ts";
import { permissionsOfRoles, requireMayAssignRoles } from "../roles/escalation.ts";
import { lockLinkTargets, requireTargets } from "../users/link_targets.ts";

const MODES = ["closed", "invitation", "domain", "open"] as const;

export const RegistrationMode = z.enum(MODES).meta({
  description:
    "Who may join the tenant by themselves. closed: nobody, not even by an invitation; invitation: " +
    "who was invited; domain: also who reads the mail of an address with one of the domains; open: everybody",
});

export const RegistrationSettings = z.object({
  mode: RegistrationMode,
  domains: z.array(z.string()).meta({
    description: "In lower case and ASCII. A subdomain is another domain",
  }),
  roleId: z.guid().nullable().meta({ description: "The role that new users get; null: none" }),
}).meta({ id: "RegistrationSettingsDto" });
export type RegistrationSettings = z.output<typeof RegistrationSettings>;

export const RegistrationSettingsChange = z.object({
  mode: enumName(MODES),
  domains: z.array(domainOfMail).max(100).nullish().transform((domains) => [...new Set(domains ?? [])]),
  roleId: uuid.nullish().transform((id) => id ?? null),
}).refine(({ mode, domains }) => mode !== "domain" || domains.length > 0, {
  path: ["domains"],
  error: "expected at least one domain in mode domain",
}).meta({ id: "UpdateRegistrationSettingsRequest" });

/** Reads the settings of a tenant; those of a tenant that has set none, and of an unknown one, are `invitation`. */
export async function readRegistrationSettings(q: Sql, tenantId: string): Promise<RegistrationSettings> {
  const [settings] = await q<RegistrationSettings[]>`
    select mode, domains, role_id from registration_settings where tenant_id = ${tenantId}`;
  return settings ?? { mode: "invitation", domains: [], roleId: null };
}

/**
 * Replaces the settings of the caller's tenant. The caller must be allowed to assign the role, which never has platform
 * reach: strangers get it.
 * @throws ROLE_NOT_FOUND, ROLE_ASSIGNMENT_ESCALATION_BLOCKED, STEP_UP_REQUIRED_FORBIDDEN, PRECONDITION_FAILED
 */
export async function updateRegistrationSettings(
  sql: Sql,
  caller: TenantCaller,
  given: RegistrationSettings,
  ifMatch: string | null,
): Promise<RegistrationSettings> {
  const { tenantId } = caller;
  const after = { mode: given.mode, domains: given.domains, roleId: given.roleId };
  const link = { tenantId, roleIds: after.roleId === null ? [] : [after.roleId] };
  return await transact(sql, async (tx) => {
    requireTargets(await lockLinkTargets(tx, [link]), [link]);
    const before = await readRegistrationSettings(tx, tenantId);
    requireTag(ifMatch, contentTag(before));
    await requireMayAssignRoles(tx, caller, link.roleIds);
    const given = await permissionsOfRoles(tx, link.roleIds);
    const beyond = given.filter(({ reach }) => reach === "Platform").map(({ code }) => code);
    if (beyond.length > 0) {
      throw problem(
        "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
        `Role ${after.roleId} cannot be given at a registration: it has platform reach by ${
          beyond.join(", ")
        }.`,
      );
    }
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

export const registrationClosed = (mode: RegistrationSettings["mode"]): Problem =>
  problem(
    "REGISTRATION_CLOSED_FORBIDDEN",
    `The tenant's registration is "${mode}", which does not allow this.`,
  );
