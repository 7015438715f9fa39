import { z } from "zod";
import { lockNamed } from "../../../infra/postgres/advisory_locks.ts";
import { announceChange } from "../../../infra/postgres/changes.ts";
import { afterCommit, type Sql, transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { newId } from "../../shared/ids.ts";
import { belongsToOrToAll } from "../../shared/lists.ts";
import { time } from "../../shared/shapes.ts";
import type { PauseTarget } from "./known_pauses.ts";
import type { JobPlatform } from "../platform.ts";
import { auditActor, type JobActor } from "../reach.ts";
import { findJobTypes } from "../types/find_job_types.ts";

/** The reason why jobs of a queue or type wait. */
export const Pause = z.object({
  kind: z.enum(["queue", "type"]),
  name: z.string(),
  scope: z.enum(["tenant", "all"]).describe("`all`: paused for all tenants, by the platform"),
  reason: z.string().nullable(),
  pausedAt: time,
}).meta({ id: "JobPauseDto", description: "Why waiting jobs do not start" });
export type Pause = z.output<typeof Pause>;

/** A queue or job type as a caller sees it after a pause or resume. */
export const PauseState = z.object({
  kind: z.enum(["queue", "type"]),
  name: z.string(),
  isPaused: z.boolean(),
  pause: Pause.nullable(),
}).meta({ id: "JobPauseStateDto" });
export type PauseState = z.output<typeof PauseState>;

type PausePlatform = Pick<JobPlatform, "sql" | "wakeUps" | "clock" | "jobTypes">;

const COLUMNS =
  `kind, name, case when tenant_id is null then 'all' else 'tenant' end as scope, reason, paused_at`;

/** Most pauses of a tenant, or of the platform for all: workers compare every lane with all pauses. */
const MAX_PAUSES = 1_000;

/**
 * Pauses a queue or job type: for the caller's tenant, or without a tenant context for all. Its waiting jobs do not start
 * until it is resumed. A repeated pause changes nothing, its reason included.
 * @throws JOB_TYPE_NOT_FOUND, VALIDATION_ERROR (too many pauses)
 */
export async function pauseWork(
  p: PausePlatform,
  caller: JobActor,
  target: PauseTarget,
  reason: string | null,
): Promise<PauseState> {
  const { kind, name } = target;
  return await transact(p.sql, async (tx) => {
    await lockTarget(p, tx, caller, target);
    await requireRoom(tx, caller.tenantId, target);
    const { count } = await tx`
      insert into job_pauses (id, kind, name, tenant_id, reason, paused_by)
      values (${newId()}, ${kind}, ${name}, ${caller.tenantId}, ${reason}, ${caller.userId})
      on conflict (kind, name, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')) do nothing`;
    if (count > 0) await finish(tx, caller, target, { isPaused: false }, { isPaused: true, reason });
    return await readPauseState(tx, caller, target);
  });
}

/** Resumes a queue or job type that `pauseWork` paused. A repeated resume changes nothing. @throws JOB_TYPE_NOT_FOUND */
export async function resumeWork(
  p: PausePlatform,
  caller: JobActor,
  target: PauseTarget,
): Promise<PauseState> {
  return await transact(p.sql, async (tx) => {
    await lockTarget(p, tx, caller, target);
    const [before] = await tx<{ reason: string | null }[]>`
      delete from job_pauses where kind = ${target.kind} and name = ${target.name}
        and tenant_id is not distinct from ${caller.tenantId}::uuid
      returning reason`;
    if (before) {
      await finish(tx, caller, target, { isPaused: true, ...before }, { isPaused: false });
      afterCommit(tx, () => p.wakeUps.at(p.clock.now()));
    }
    return await readPauseState(tx, caller, target);
  });
}

/** Locks the name of a type, so that the type is not deleted before the pause is written. @throws JOB_TYPE_NOT_FOUND */
async function lockTarget(
  p: PausePlatform,
  tx: Tx,
  { tenantId }: JobActor,
  target: PauseTarget,
): Promise<void> {
  if (target.kind !== "type") return;
  await lockNamed(tx, "jobTypes", target.name);
  const found = await findJobTypes({ ...p, sql: tx }, tenantId, [target.name]);
  if (!found.has(target.name)) {
    throw problem("JOB_TYPE_NOT_FOUND", `No job type ${target.name} is known here.`);
  }
}

async function requireRoom(tx: Tx, tenantId: string | null, { kind, name }: PauseTarget): Promise<void> {
  const [row] = await tx<{ pauses: number; isPaused: boolean }[]>`
    select count(*)::int as pauses, coalesce(bool_or(kind = ${kind} and name = ${name}), false) as is_paused
    from job_pauses where tenant_id is not distinct from ${tenantId}::uuid`;
  if (!row || row.isPaused || row.pauses < MAX_PAUSES) return;
  const mistake = `${MAX_PAUSES} queues and job types are paused, which is the maximum; resume one first`;
  throw invalid({ [kind === "queue" ? "queue" : "name"]: [mistake] });
}

type PauseChange = { isPaused: boolean; reason?: string | null };

async function finish(
  tx: Tx,
  caller: JobActor,
  { kind, name }: PauseTarget,
  before: PauseChange,
  after: PauseChange,
): Promise<void> {
  const action = `${kind === "queue" ? "jobQueue" : "jobType"}.${after.isPaused ? "pause" : "resume"}`;
  await recordAudit(tx, auditActor(caller), action, name, { before, after });
  await stopStaleClaims(tx);
  announceChange(tx, { topic: "job pauses" });
}

/**
 * Waits for the claims that run, and makes workers claim nothing after the commit of `tx` until they have read the
 * pauses. Claims lock the row of their worker, or the version of the pauses, for key share: an update alone does not
 * wait for that.
 */
async function stopStaleClaims(tx: Tx): Promise<void> {
  await tx`select from job_pause_version for update`;
  await tx`update job_pause_version set n = n + 1`;
  await tx`select from job_workers order by id for update`;
  await tx`update job_workers set pauses_changed = true where not pauses_changed`;
}

async function readPauseState(q: Sql, { tenantId }: JobActor, target: PauseTarget): Promise<PauseState> {
  const { kind, name } = target;
  const [pause] = await q<Pause[]>`
    select ${q.unsafe(COLUMNS)} from job_pauses where kind = ${kind} and name = ${name} and ${
    belongsToOrToAll(q, tenantId)
  }
    order by tenant_id nulls last limit 1`;
  return { kind, name, isPaused: pause !== undefined, pause: pause ?? null };
}

/** The pauses of one kind, by name: those of the tenant, and those for all. The tenant's own come first. */
export async function readPauses(
  q: Sql,
  tenantId: string | null,
  kind: PauseTarget["kind"],
): Promise<Map<string, Pause>> {
  const pauses = await q<Pause[]>`
    select ${q.unsafe(COLUMNS)} from job_pauses where kind = ${kind} and ${belongsToOrToAll(q, tenantId)}
    order by tenant_id nulls first`;
  return new Map(pauses.map((pause) => [pause.name, pause]));
}

/** Lists the queues and job types that are paused for the tenant or, with null, for all: queues first, by name. */
export async function listPauses(q: Sql, tenantId: string | null): Promise<Pause[]> {
  return await q<Pause[]>`
    select ${q.unsafe(COLUMNS)} from job_pauses where ${
    belongsToOrToAll(q, tenantId)
  } order by kind, name, tenant_id nulls first`;
}

/** Finds the pause for which a job waits; null if neither its queue nor its type is paused. A pause for all comes first. */
export async function findPause(
  q: Sql,
  { queue, jobTypeName, tenantId }: { queue: string; jobTypeName: string; tenantId: string | null },
): Promise<Pause | null> {
  const [pause] = await q<Pause[]>`
    select ${q.unsafe(COLUMNS)} from job_pauses
    where (kind, name) in (('queue', ${queue}), ('type', ${jobTypeName})) and ${belongsToOrToAll(q, tenantId)}
    order by tenant_id nulls first, kind limit 1`;
  return pause ?? null;
}

/** True if the queue or type of one of the jobs is paused. */
export async function isAnyPaused(q: Sql, jobIds: string[]): Promise<boolean> {
  if (jobIds.length === 0) return false;
  const [row] = await q<{ isPaused: boolean }[]>`
    select exists (
      select from job_pauses p join jobs j on p.tenant_id is null or p.tenant_id = j.tenant_id
      where j.id = any(${jobIds}::uuid[])
        and p.name = case p.kind when 'queue' then j.queue else j.job_type_name end
    ) as is_paused`;
  return row?.isPaused ?? false;
}
