import { z } from "zod";
import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import type { TenantCaller } from "../rights/caller.ts";
import type { Platform } from "../shared/platform.ts";
import { requireActive } from "./deliveries.ts";
import { auditEndpoint, readEndpoint } from "./endpoints.ts";
import type { EventPlatform } from "./platform.ts";
import { requeueDeliveries } from "./requeue.ts";
import { runBatches } from "../shared/batches.ts";
import { countRows } from "../shared/read_page.ts";

/** The most deliveries that one request sends again, and that it counts. */
export const MAX_REDELIVERED = 100_000;
/** Up to this many are queued before the answer; more by a job. */
const AT_ONCE = 500;

export interface RedeliverResult {
  /** Failed deliveries of the endpoint, counted up to MAX_REDELIVERED. */
  matched: number;
  /** Number of deliveries that are due at once. */
  redelivered: number;
  /** The job that sends them, if there are many. */
  jobId: string | null;
}

/**
 * Sends all failed deliveries of an endpoint again, with the same ids and new schedules of retries.
 * @param dryRun only counts them
 * @throws WEBHOOK_ENDPOINT_NOT_FOUND, WEBHOOK_ENDPOINT_INACTIVE_CONFLICT
 */
export async function redeliverFailed(
  p: Pick<Platform, "sql" | "wakeUps">,
  caller: TenantCaller,
  endpointId: string,
  dryRun: boolean,
): Promise<RedeliverResult> {
  return await transact(p.sql, async (tx) => {
    await (dryRun ? readEndpoint(tx, caller, endpointId) : requireActive(tx, caller, endpointId));
    const matched = await countFailed(tx, endpointId);
    if (dryRun || matched === 0) return { matched, redelivered: 0, jobId: null };
    const failed: Failed = { endpointId, tenantId: caller.tenantId, until: await endOfFailures(tx) };
    await auditEndpoint(tx, caller, "redeliver-failed", endpointId, { after: { matched } });
    if (matched > AT_ONCE) {
      const jobId = await enqueueJob(p, tx, redeliverFailedJob, failed, { tenantId: caller.tenantId });
      return { matched, redelivered: 0, jobId };
    }
    return { matched, redelivered: await redeliverBatch(p, tx, failed), jobId: null };
  });
}

/** The failed deliveries of an endpoint until a time. A delivery that fails again later is not sent a third time. */
type Failed = z.output<typeof failed>;
const failed = z.object({ endpointId: z.guid(), tenantId: z.guid(), until: z.string() });

const endOfFailures = async (tx: Tx): Promise<string> => {
  const [row] = await tx<{ until: string }[]>`select now()::timestamptz(3)::text as until`;
  return row?.until ?? "";
};

const countFailed = (q: Sql, endpointId: string): Promise<number> =>
  countRows(
    q,
    q`(select from webhook_deliveries where endpoint_id = ${endpointId} and status = 'Failed'
      limit ${MAX_REDELIVERED}) failed`,
  );

async function redeliverBatch(
  p: Pick<Platform, "wakeUps">,
  tx: Tx,
  { endpointId, tenantId, until }: Failed,
): Promise<number> {
  const rows = await tx<{ id: string }[]>`
    select d.id from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id
    where e.id = ${endpointId} and e.is_active and d.status = 'Failed' and d.completed_at <= ${until}::text::timestamptz
    order by d.id limit ${AT_ONCE} for key share of e for update of d`;
  await requeueDeliveries(p, tx, tenantId, rows.map(({ id }) => id));
  return rows.length;
}

/** Sends many failed deliveries again, until the endpoint is deactivated. A repeated run does no harm. */
export const redeliverFailedJob = defineJob({
  name: "events.redeliver-failed",
  args: failed,
  maxRetries: 10,
  timeoutMs: 3_600_000,
  async run(args, { platform: p, signal }: JobContext<EventPlatform>) {
    let left = MAX_REDELIVERED;
    const redelivered = await runBatches(AT_ONCE, async () => {
      signal.throwIfAborted();
      const rows = left > 0 ? await transact(p.sql, (tx) => redeliverBatch(p, tx, args)) : 0;
      left -= rows;
      return rows;
    });
    return { redelivered };
  },
});
