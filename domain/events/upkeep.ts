import { z } from "zod";
import { transact } from "../../infra/postgres/postgres.ts";
import { defineJob } from "../jobs/job_type.ts";
import { readJobEnds } from "../jobs/job_ends.ts";
import { firstIdOf } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { enqueueDeliveries } from "./emit.ts";
import { numberEvents } from "./feed/number_events.ts";
import { pruneInterests } from "./job_events.ts";
import { KEY_HOURS } from "./publish.ts";

const KEPT_DAYS = 30;
const BATCH = 500;
/** A delivery overdue by more than this may have lost its job. */
const OVERDUE_MINUTES = 15;

/**
 * Every ten minutes: enqueues lost delivery jobs again, numbers events that nobody has polled, and deletes old deliveries
 * and events, and expired secrets and keys.
 */
export const upkeepJob = defineJob({
  name: "events.upkeep",
  args: z.object({}),
  cron: "*/10 * * * *",
  maxRetries: 0,
  async run(_args, { platform, db, signal }) {
    await db`delete from webhook_secrets where valid_until < now()`;
    await pruneInterests(db);
    await db`delete from event_keys where created_at < now() - make_interval(hours => ${KEY_HOURS})`;
    return {
      resumed: await resumeLost(platform),
      numbered: await numberEvents(db),
      pruned: await pruneDeliveries(platform, signal),
      prunedEvents: await pruneEvents(platform, signal),
    };
  },
});

/** Enqueues a new job for Pending deliveries whose job has ended: it was cancelled, or failed on our side. */
export async function resumeLost(p: Pick<Platform, "sql" | "wakeUps">): Promise<number> {
  return await transact(p.sql, async (tx) => {
    const overdue = await tx<{ id: string; jobId: string; tenantId: string }[]>`
      select d.id, d.job_id, e.tenant_id from webhook_deliveries d
      join webhook_endpoints e on e.id = d.endpoint_id
      where d.status = 'Pending' and d.next_attempt_at < now() - make_interval(mins => ${OVERDUE_MINUTES})
      order by d.next_attempt_at limit ${BATCH} for update of d skip locked`;
    const ends = await readJobEnds(tx, overdue.map(({ jobId }) => jobId));
    const lost = overdue.filter(({ jobId }) => ends.has(jobId));
    if (lost.length === 0) return 0;
    const jobIds = await enqueueDeliveries(
      p,
      tx,
      lost.map(({ id, tenantId }) => ({ deliveryId: id, tenantId })),
    );
    await tx`update webhook_deliveries d set job_id = given.job_id
      from unnest(${lost.map(({ id }) => id)}::uuid[], ${jobIds}::uuid[]) as given (id, job_id)
      where d.id = given.id`;
    return lost.length;
  });
}

/** Deletes deliveries that have ended and were created more than 30 days ago; returns how many. */
export const pruneDeliveries = (p: Pick<Platform, "sql">, signal?: AbortSignal): Promise<number> =>
  deleteInBatches(
    () =>
      p.sql`delete from webhook_deliveries where id in (
      select id from webhook_deliveries
      where created_at < now() - make_interval(days => ${KEPT_DAYS}) and status <> 'Pending' limit ${BATCH})`,
    signal,
  );

/** Deletes events of more than 30 days ago; returns how many. */
export function pruneEvents(p: Pick<Platform, "sql" | "clock">, signal?: AbortSignal): Promise<number> {
  const firstKept = firstIdOf(new Date(p.clock.now().getTime() - KEPT_DAYS * 86_400_000));
  return deleteInBatches(
    () =>
      p.sql`delete from events where id in (
      select id from events where id < ${firstKept} order by id limit ${BATCH})`,
    signal,
  );
}

/** Repeats a statement that deletes up to BATCH rows until it deletes fewer; returns how many rows it deleted. */
async function deleteInBatches(
  deleteSome: () => PromiseLike<{ count: number }>,
  signal?: AbortSignal,
): Promise<number> {
  let deleted = 0;
  let count = BATCH;
  while (count >= BATCH && !signal?.aborted) {
    ({ count } = await deleteSome());
    deleted += count;
  }
  return deleted;
}
