import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import type { TenantCaller } from "../rights/caller.ts";
import type { Platform } from "../shared/platform.ts";
import { auditEndpoint, type Endpoint, lockEndpoint, readEndpoint } from "./endpoints.ts";
import { releaseHeld } from "./release_held.ts";

/**
 * Pauses an endpoint: its deliveries wait. An attempt that runs is not stopped. A repeated pause changes nothing, its
 * reason included.
 * @throws WEBHOOK_ENDPOINT_NOT_FOUND
 */
export async function pauseEndpoint(
  tx: Tx,
  caller: TenantCaller,
  id: string,
  reason: string | null,
): Promise<Endpoint> {
  const { value: before } = await lockEndpoint(tx, caller, id, null);
  if (before.pausedAt !== null) return before;
  await tx`update webhook_endpoints set paused_at = now(), paused_by = ${caller.userId}, pause_reason = ${reason},
    version = version + 1, updated_at = now() where id = ${id}`;
  await auditEndpoint(tx, caller, "pause", id, {
    before: { isPaused: false },
    after: { isPaused: true, reason },
  });
  return (await readEndpoint(tx, caller, id)).value;
}

/**
 * Resumes an endpoint. A job sends what waited. A series of failures begins again, because nothing was tried during the
 * pause. A repeated resume changes nothing.
 * @throws WEBHOOK_ENDPOINT_NOT_FOUND
 */
export async function resumeEndpoint(
  p: Pick<Platform, "sql" | "wakeUps">,
  caller: TenantCaller,
  id: string,
): Promise<Endpoint> {
  return await transact(p.sql, async (tx) => {
    const { value: before } = await lockEndpoint(tx, caller, id, null);
    if (before.pausedAt === null) return before;
    await tx`update webhook_endpoints set paused_at = null, paused_by = null, pause_reason = null, failing_since = null,
      version = version + 1, updated_at = now() where id = ${id}`;
    await releaseHeld(p, tx, { endpointId: id, tenantId: caller.tenantId });
    await auditEndpoint(tx, caller, "resume", id, {
      before: { isPaused: true, reason: before.pauseReason },
      after: { isPaused: false },
    });
    return (await readEndpoint(tx, caller, id)).value;
  });
}

/**
 * Leaves a delivery without a job if its endpoint is paused. The lock orders it before or after a resume, so that a resume
 * releases it or it is attempted.
 */
export async function holdIfPaused(q: Sql, o: { id: string; endpointId: string }): Promise<boolean> {
  const { count } = await q`
    with paused as (
      select id from webhook_endpoints where id = ${o.endpointId} and paused_at is not null for share
    )
    update webhook_deliveries d set held = true from paused
    where d.id = ${o.id} and d.endpoint_id = paused.id and d.status = 'Pending'`;
  return count > 0;
}
