import type { Tx } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../access/caller.ts";
import { newId } from "../shared/ids.ts";

/** Who an audit row names: the caller, or the service itself (all null). */
export type Actor = Pick<Caller, "userId" | "tenantId" | "traceId" | "ip"> | null;

export interface AuditEntry {
  /** Verb and entity, such as `role.update`. */
  action: string;
  targetType: string;
  targetId: string;
  /** What the target was and became; never secrets, keys or tokens. */
  before?: unknown;
  after?: unknown;
}

/** Writes the audit row of a change, in the change's own transaction. */
export async function recordAudit(tx: Tx, actor: Actor, entry: AuditEntry): Promise<void> {
  await recordAudits(tx, actor, [entry]);
}

/** Writes the audit rows of many changes at once. */
export async function recordAudits(tx: Tx, actor: Actor, entries: AuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const json = (value: unknown) => value === undefined ? null : JSON.stringify(value);
  await tx`insert into audit_log (id, actor_id, tenant_id, action, target_type, target_id, before, after, trace_id, ip)
    select id, ${actor?.userId ?? null}::uuid, ${
    actor?.tenantId ?? null
  }::uuid, action, target_type, target_id,
      before::jsonb, after::jsonb, ${actor?.traceId ?? null}::text, ${actor?.ip ?? null}::text
    from unnest(${entries.map(newId)}::uuid[], ${entries.map((entry) => entry.action)}::text[],
      ${entries.map((entry) => entry.targetType)}::text[], ${entries.map((entry) => entry.targetId)}::text[],
      ${entries.map((entry) => json(entry.before))}::text[], ${
    entries.map((entry) => json(entry.after))
  }::text[])
      entry (id, action, target_type, target_id, before, after)`;
}
