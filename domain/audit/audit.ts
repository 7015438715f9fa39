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
  const json = (value: unknown) => value === undefined ? null : JSON.stringify(value);
  await tx`insert into audit_log (id, actor_id, tenant_id, action, target_type, target_id, before, after, trace_id, ip)
    values (${newId()}, ${actor?.userId ?? null}, ${
    actor?.tenantId ?? null
  }, ${entry.action}, ${entry.targetType},
      ${entry.targetId}, ${json(entry.before)}::text::jsonb, ${json(entry.after)}::text::jsonb,
      ${actor?.traceId ?? null}, ${actor?.ip ?? null})`;
}
