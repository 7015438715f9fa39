import { type Sql, type Tx, withCommit } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../rights/caller.ts";
import { newId } from "../shared/ids.ts";
import { splitPersonal, subjectsOf } from "./personal_values.ts";

/** Actor of an audit row: a caller, a client without a user, or the service itself (null). */
export type Actor =
  | Pick<Caller, "tenantId" | "traceId" | "ip">
    & { userId: string | null }
    & Partial<Pick<Caller, "apiKeyId" | "actedBy">>
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

/**
 * Writes the audit row of a change in the transaction of that change.
 * @param action verb and entity, such as `role.update`; the entity is the type of the target
 */
export async function recordAudit(
  tx: Tx,
  actor: Actor,
  action: string,
  targetId: string,
  change: Pick<AuditEntry, "before" | "after" | "tenantId"> = {},
): Promise<void> {
  const [targetType = ""] = action.split(".");
  await recordAudits(tx, actor, [{ action, targetType, targetId, ...change }]);
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

/** The personal values of a row lie in `audit_values`, where they can be erased. */
function insertion(q: Sql, rows: AuditRow[]) {
  const column = <T>(read: (row: AuditRow) => T): T[] => rows.map(read);
  const tenantOf = ({ actor, entry }: AuditRow) =>
    entry.tenantId === undefined ? actor?.tenantId ?? null : entry.tenantId;
  const splits = rows.map(({ entry }) => {
    const before = splitPersonal(entry.targetType, entry.before);
    const after = splitPersonal(entry.targetType, entry.after);
    const subjects = subjectsOf(entry.targetType, entry.targetId, [before.personal, after.personal]);
    return { before, after, subjects };
  });
  const json = (read: (split: typeof splits[number]) => unknown) =>
    splits.map((split) => read(split) === null ? null : JSON.stringify(read(split)));
  return q`with entry as materialized (
      select * from unnest(${rows.map(newId)}::uuid[], ${
    column(({ actor }) => actor?.userId ?? null)
  }::uuid[],
        ${column(tenantOf)}::uuid[], ${column(({ entry }) => entry.action)}::text[],
        ${column(({ entry }) => entry.targetType)}::text[], ${column(({ entry }) => entry.targetId)}::text[],
        ${json((split) => split.before.kept)}::text[], ${json((split) => split.after.kept)}::text[],
        ${json((split) => split.before.personal)}::text[], ${json((split) => split.after.personal)}::text[],
        ${json((split) => split.subjects)}::text[],
        ${column(({ actor }) => actor?.traceId ?? null)}::text[],
        ${column(({ actor }) => actor?.ip ?? null)}::text[],
        ${column(({ actor }) => actor?.apiKeyId ?? null)}::uuid[],
        ${column(({ actor }) => actor?.actedBy?.userId ?? null)}::uuid[])
        entry (id, actor_id, tenant_id, action, target_type, target_id, before, after, personal_before,
          personal_after, subjects, trace_id, ip, api_key_id, acted_by)
    ), personal as (
      insert into audit_values (audit_id, subjects, before, after, ip)
      select id, array(select jsonb_array_elements_text(subjects::jsonb)), personal_before::jsonb,
        personal_after::jsonb, ip
      from entry where coalesce(personal_before, personal_after, ip) is not null
    )
    insert into audit_log (id, actor_id, tenant_id, action, target_type, target_id, before, after, trace_id,
      api_key_id, acted_by, values_apart)
    select id, actor_id, tenant_id, action, target_type, target_id, before::jsonb, after::jsonb, trace_id, api_key_id,
      acted_by, true
    from entry`;
}
