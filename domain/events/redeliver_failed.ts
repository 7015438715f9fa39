import { z } from "zod";
import { type Sql, type SqlPart, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import type { Caller, TenantCaller } from "../rights/caller.ts";
import type { Platform } from "../shared/platform.ts";
import { type DeliveryFilter, endpointScope, isWithin, requireActive } from "./deliveries.ts";
import { auditEndpoint, readEndpoint } from "./endpoints.ts";
import type { EventPlatform } from "./platform.ts";
import { requeueDeliveries } from "./emit.ts";
import { runBatches } from "../shared/batches.ts";
import { countRows } from "../shared/lists.ts";

/** The most deliveries that one request sends again, and that it counts. */
export const MAX_REDELIVERED = 100_000;
/** Up to this many are queued before the answer; more by a job. */
const AT_ONCE = 500;

export const RedeliverResult = z.object({
  matched: z.int().describe(`Failed deliveries, counted up to ${MAX_REDELIVERED}`),
  redelivered: z.int().describe("Deliveries that are due now"),
  jobId: z.guid().nullable().describe("The job that sends them, if there are many"),
}).meta({ id: "RedeliverFailedResponse" });
type RedeliverResult = z.output<typeof RedeliverResult>;

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
    const failed = await failuresOf(tx, caller, { tenantId: caller.tenantId, endpointId });
    const matched = await countFailed(tx, failed);
    if (dryRun || matched === 0) return { matched, redelivered: 0, jobId: null };
    await auditEndpoint(tx, caller, "redeliver-failed", endpointId, { after: { matched } });
    return await redeliverCounted(p, tx, failed, matched);
  });
}

/**
 * Sends the failed deliveries of all active endpoints again that a filter selects, as `redeliverFailed` does.
 * @param dryRun only counts them
 */
export async function redeliverAllFailed(
  p: Pick<Platform, "sql" | "wakeUps">,
  caller: Caller,
  filter: DeliveryFilter,
  dryRun: boolean,
): Promise<RedeliverResult> {
  return await transact(p.sql, async (tx) => {
    const failed = await failuresOf(tx, caller, filter);
    const matched = await countFailed(tx, failed, tx`e.is_active`);
    if (dryRun || matched === 0) return { matched, redelivered: 0, jobId: null };
    const { tenantId } = failed;
    const after = { ...filter, matched };
    await recordAudit(tx, caller, "webhookDelivery.redeliver-failed", tenantId ?? "everything", {
      after,
      tenantId,
    });
    return await redeliverCounted(p, tx, failed, matched);
  });
}

async function redeliverCounted(
  p: Pick<Platform, "wakeUps">,
  tx: Tx,
  failed: Failed,
  matched: number,
): Promise<RedeliverResult> {
  if (matched > AT_ONCE) {
    const jobId = await enqueueJob(p, tx, redeliverFailedJob, failed, { tenantId: failed.tenantId });
    return { matched, redelivered: 0, jobId };
  }
  return { matched, redelivered: await redeliverBatch(p, tx, failed), jobId: null };
}

/** Deliveries that failed in a period. One that fails again later is not sent a third time. */
type Failed = z.output<typeof failed>;
const failed = z.object({
  endpointId: z.guid().nullable(),
  tenantId: z.guid().nullable(),
  seesPlatform: z.boolean().default(true),
  from: z.string().nullable().default(null),
  until: z.string(),
});

async function failuresOf(tx: Tx, caller: Caller, filter: DeliveryFilter): Promise<Failed> {
  const [period] = await tx<{ from: string | null; until: string }[]>`
    select ${filter.from ?? null}::timestamptz(3)::text as from,
      least(now(), ${filter.to ?? null}::timestamptz)::timestamptz(3)::text as until`;
  return { ...endpointScope(caller, filter), from: null, until: "", ...period };
}

/** SQL: failed deliveries `d` and their endpoints `e`, without the word `from`. */
const failedIn = (q: Sql, { from, until, ...scope }: Failed, and: SqlPart) =>
  q`webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id
    where ${isWithin(q, scope)} and ${and} and d.status = 'Failed'
      and d.completed_at <= ${until}::text::timestamptz
      and d.completed_at >= coalesce(${from}::text::timestamptz, '-infinity')`;

const countFailed = (q: Sql, failed: Failed, and: SqlPart = q`true`): Promise<number> =>
  countRows(q, q`(select from ${failedIn(q, failed, and)} limit ${MAX_REDELIVERED}) failed`);

async function redeliverBatch(p: Pick<Platform, "wakeUps">, tx: Tx, failed: Failed): Promise<number> {
  const rows = await tx<{ id: string; tenantId: string }[]>`
    select d.id, e.tenant_id from ${failedIn(tx, failed, tx`e.is_active`)}
    order by d.endpoint_id, d.id limit ${AT_ONCE} for key share of e for update of d`;
  await requeueDeliveries(p, tx, rows);
  return rows.length;
}

/** Sends many failed deliveries again, of endpoints that are active at that time. A repeated run does no harm. */
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
