import { z } from "zod";
import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { enqueueJob } from "../jobs/enqueue.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import { runBatches } from "../shared/batches.ts";
import { FIRST_ID } from "../shared/ids.ts";
import type { EventPlatform } from "./platform.ts";
import { requeueDeliveries } from "./emit.ts";

const AT_ONCE = 500;

/** Enqueues the job that gives the held deliveries of an endpoint new jobs, if there are any. */
export async function releaseHeld(
  p: { wakeUps: WakeUps },
  tx: Tx,
  { endpointId, tenantId }: { endpointId: string; tenantId: string },
): Promise<void> {
  const [held] = await tx`
    select from webhook_deliveries where endpoint_id = ${endpointId} and status = 'Pending' and held limit 1`;
  if (held) await enqueueJob(p, tx, releaseHeldJob, { endpointId }, { tenantId });
}

/** Gives held deliveries of an endpoint new jobs, unless it was paused again. Running twice does no harm. */
export const releaseHeldJob = defineJob({
  name: "events.release-held",
  args: z.object({ endpointId: z.guid() }),
  maxRetries: 10,
  timeoutMs: 3_600_000,
  async run({ endpointId }, { platform: p, signal }: JobContext<EventPlatform>) {
    let after = FIRST_ID; // an ordered delivery may be held again at once
    const released = await runBatches(AT_ONCE, async () => {
      signal.throwIfAborted();
      const rows = await transact(p.sql, async (tx) => {
        const rows = await tx<{ id: string; tenantId: string }[]>`
          select d.id, e.tenant_id from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id
          where e.id = ${endpointId} and e.paused_at is null and d.status = 'Pending' and d.held
            and d.id > ${after}
          order by d.id limit ${AT_ONCE} for share of e for update of d`;
        await requeueDeliveries(p, tx, rows);
        return rows;
      });
      after = rows.at(-1)?.id ?? after;
      return rows.length;
    });
    return { released };
  },
});
