import { z } from "zod";
import {
  dayParameter,
  defineReport,
  detail,
  instant,
  tenantName,
  text,
} from "../definition/report_template.ts";
import { TRANSLATIONS } from "./translations.ts";

/** Changes: one row per audit entry, newest first. Actors and API keys of other tenants are shown by id only. */
export const auditLogReport = defineReport({
  id: "audit-log",
  name: "Audit log",
  description: "The changes made in the tenant: who, when, what it was before and after",
  version: 3,
  translations: TRANSLATIONS,
  permissions: ["read:users"],
  parameters: z.object({
    from: dayParameter("From", "Only entries on or after this day (UTC)"),
    to: dayParameter("To", "Only entries on or before this day (UTC)"),
    action: z.string().min(1).max(100).optional().meta({
      title: "Action",
      description: "Only this action, such as user.update",
    }),
    actorId: z.guid().optional().meta({ title: "Actor", description: "Only changes made by this user" }),
  }),
  columns: {
    at: instant("At"),
    action: text("Action", 24),
    actor: text("Actor", 32),
    apiKey: detail(text("API key", 16)),
    targetType: text("Target type", 14),
    targetId: text("Target", 22),
    before: text("Before", 32),
    after: text("After", 32),
    tenant: tenantName(),
    ip: detail(text("Address", 16)),
    traceId: detail(text("Trace", 36)),
  },
  chart: { title: "Changes by action", by: "action" },
  query: (sql, { tenantIds, parameters: { from, to, action, actorId } }) =>
    sql`
    select a.at, a.action, coalesce(u.email, s.name, a.actor_id::text) as actor,
      coalesce(k.name, a.api_key_id::text) as api_key, a.target_type, a.target_id,
      with_personal_values(a.before, v.before)::text as before, with_personal_values(a.after, v.after)::text as after,
      t.name as tenant, coalesce(a.ip, v.ip) as ip, a.trace_id
    from audit_log a
    left join audit_values v on v.audit_id = a.id
    left join users u on u.id = a.actor_id and u.erased_at is null and (${tenantIds}::uuid[] is null or exists (
      select from user_tenants l where l.user_id = u.id and l.tenant_id = any(${tenantIds}::uuid[])))
    left join service_accounts s on s.id = a.actor_id
    left join api_keys k on k.id = a.api_key_id and (${tenantIds}::uuid[] is null or k.tenant_id = any(${tenantIds}::uuid[]))
    left join tenants t on t.id = a.tenant_id
    where (${tenantIds}::uuid[] is null or a.tenant_id = any(${tenantIds}::uuid[]))
      and (${from}::date is null or a.at >= ${from}::date)
      and (${to}::date is null or a.at < ${to}::date + 1)
      and (${action}::text is null or a.action = ${action}::text)
      and (${actorId}::uuid is null or a.actor_id = ${actorId}::uuid)
    order by a.id desc`,
});
