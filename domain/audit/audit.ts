import { type Sql, type Tx, withCommit } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../rights/caller.ts";
import { newId } from "../shared/ids.ts";

/** Actor of an audit row: a caller, a client without a user, or the service itself (null). */
export type Actor =
  | Pick<Caller, "tenantId" | "traceId" | "ip">
    & { userId: string | null }
    & Partial<Pick<Caller, "apiKeyId">>
  | null;

export interface AuditEntry {
  /** Verb and entity, such as `role.update`. */
  action: string;
  targetType: string;
  targetId: string;
  /** State of the target before and after; must not contain secrets, keys or tokens. */
  before?: unknown;
  after?: unknown;
  /** Tenant whose audit log contains the row; absent: the actor's tenant. */
  tenantId?: string | null;
}

/** Writes the audit row of a change in the transaction of that change. */
export async function recordAudit(tx: Tx, actor: Actor, entry: AuditEntry): Promise<void> {
  await recordAudits(tx, actor, [entry]);
}

/** Writes the audit rows of several changes in one statement, in their transaction. */
export async function recordAudits(tx: Tx, actor: Actor, entries: AuditEntry[]): Promise<void> {
  if (entries.length > 0) await withCommit(tx, insertion(tx, entries.map((entry) => ({ actor, entry }))));
}

/** An entry and its actor. */
export interface AuditRow {
  actor: Actor;
  entry: AuditEntry;
}

/** Writes audit rows of different actors in one statement. */
export async function writeAuditRows(q: Sql, rows: AuditRow[]): Promise<void> {
  if (rows.length > 0) await insertion(q, rows);
}

function insertion(q: Sql, rows: AuditRow[]) {
  const column = <T>(read: (row: AuditRow) => T): T[] => rows.map(read);
  const json = (value: unknown) => value === undefined ? null : JSON.stringify(value);
  const tenantOf = ({ actor, entry }: AuditRow) =>
    entry.tenantId === undefined ? actor?.tenantId ?? null : entry.tenantId;
  return q`insert into audit_log (id, actor_id, tenant_id, action, target_type, target_id, before, after, trace_id, ip,
      api_key_id)
    select id, actor_id, tenant_id, action, target_type, target_id, before::jsonb, after::jsonb, trace_id, ip,
      api_key_id
    from unnest(${rows.map(newId)}::uuid[], ${column(({ actor }) => actor?.userId ?? null)}::uuid[],
      ${column(tenantOf)}::uuid[], ${column(({ entry }) => entry.action)}::text[],
      ${column(({ entry }) => entry.targetType)}::text[], ${column(({ entry }) => entry.targetId)}::text[],
      ${column(({ entry }) => json(entry.before))}::text[],
      ${column(({ entry }) => json(entry.after))}::text[],
      ${column(({ actor }) => actor?.traceId ?? null)}::text[],
      ${column(({ actor }) => actor?.ip ?? null)}::text[],
      ${column(({ actor }) => actor?.apiKeyId ?? null)}::uuid[])
      entry (id, actor_id, tenant_id, action, target_type, target_id, before, after, trace_id, ip, api_key_id)`;
}
