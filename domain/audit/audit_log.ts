import { z } from "zod";
import { time } from "../shared/shapes.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { type Caller, isSystemAdmin } from "../rights/caller.ts";
import { firstIdOf } from "../shared/ids.ts";
import { type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { allOf, countList, pageOf } from "../shared/lists.ts";
import { namesOf, readNames } from "./entry_names.ts";

/** Clocks of instances and of the database differ by less. */
const CLOCKS_DIFFER_MS = 60 * 60_000;

/** One row of the audit log: actor, tenant, action and target. */
export const AuditRow = z.object({
  id: z.guid(),
  at: time,
  actorId: z.guid().nullable().describe("Null: the service itself or a CLI script"),
  actorEmail: z.string().nullable(),
  serviceAccount: z.string().nullable().describe("Name of the service account that acted"),
  actedBy: z.guid().nullable().describe("The user who acted as the actor (a delegation)"),
  apiKeyId: z.guid().nullable().describe("The actor's API key or set-up link, if the request used one"),
  tenantId: z.guid().nullable(),
  action: z.string(),
  targetType: z.string(),
  targetId: z.string(),
  before: z.unknown(),
  after: z.unknown(),
  traceId: z.string().nullable(),
  ip: z.string().nullable(),
  valuesErasedAt: time.nullable().describe(
    "When personal values were erased; they are missing in `before`, `after` and `ip`",
  ),
  // Those that the caller may see.
  names: z.record(z.string(), z.string()).describe(
    "Names by id of the users, roles, tenants and other things in the entry",
  ),
}).meta({ id: "AuditEntryDto" });
export type AuditRow = z.output<typeof AuditRow>;

/** Filter and page of the audit log; absent members do not filter. */
export interface AuditLogRequest extends PageRequest {
  tenantId?: string | undefined;
  actorId?: string | undefined;
  action?: string | undefined;
  targetType?: string | undefined;
  targetId?: string | undefined;
  fromDate?: Date | undefined;
  /** Inclusive. */
  toDate?: Date | undefined;
}

/**
 * Reads the part of the audit log that the caller may see, newest first: all of it with admin:system, else that of the
 * caller's tenant. There, actors who do not belong to the tenant have no email, only their id.
 */
export async function readAuditLog(
  q: Sql,
  caller: Caller,
  request: AuditLogRequest,
): Promise<PagedResult<AuditRow>> {
  const tenantId = isSystemAdmin(caller) ? request.tenantId ?? null : caller.tenantId;
  const { page: _, pageSize: __, ...filter } = { ...request, tenantId };
  const counted = q`audit_log a where ${where(q, filter)}`;
  const total = await countList(q, counted);
  const rows = await q<Omit<AuditRow, "names">[]>`
    with page as materialized (
      select a.id from audit_log a where ${where(q, filter)}
      order by a.id desc ${pageOf(q, request)}
    )
    select a.id, a.at, a.actor_id, u.email as actor_email, s.name as service_account, a.acted_by, a.api_key_id, a.tenant_id, a.action, a.target_type, a.target_id,
      with_personal_values(a.before, v.before) as before, with_personal_values(a.after, v.after) as after, a.trace_id,
      coalesce(a.ip, v.ip) as ip, v.erased_at as values_erased_at
    from audit_log a left join audit_values v on v.audit_id = a.id
    left join users u on u.id = a.actor_id and u.erased_at is null and (${isSystemAdmin(caller)}
      or exists (select from user_tenants l where l.user_id = u.id and l.tenant_id = ${caller.tenantId}))
    left join service_accounts s on s.id = a.actor_id
    where a.id = any(array(select id from page)) order by a.id desc`;
  const names = await readNames(q, caller, rows);
  const items = rows.map((row): AuditRow => ({ ...row, names: namesOf(row, names) }));
  return pagedResult(items, total, request);
}

/** An id contains the time when it was made. The time of the row may be earlier by the duration of its transaction. */
const idBefore = (from: Date): string => firstIdOf(new Date(from.getTime() - CLOCKS_DIFFER_MS));

type Filter = Omit<AuditLogRequest, "page" | "pageSize" | "tenantId"> & { tenantId: string | null };

function where(q: Sql, o: Filter) {
  return allOf(q, [
    o.tenantId === null ? q`true` : q`a.tenant_id = ${o.tenantId}`,
    o.actorId !== undefined && q`a.actor_id = ${o.actorId}`,
    o.action !== undefined && q`a.action = ${o.action}`,
    o.targetType !== undefined && q`a.target_type = ${o.targetType}`,
    o.targetId !== undefined && q`a.target_id = ${o.targetId}`,
    o.fromDate !== undefined && q`a.at >= ${o.fromDate} and a.id >= ${idBefore(o.fromDate)}`,
    o.toDate !== undefined && q`a.at <= ${o.toDate}`,
  ]);
}
