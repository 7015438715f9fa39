import { DAY_MS } from "../../infra/clock.ts";
import { transact } from "../../infra/postgres/postgres.ts";
import { readJobEnds } from "../jobs/job_row.ts";
import { type Batch, type BatchResult, deleteExpired, maintenanceJob } from "../jobs/maintenance.ts";
import { type ArchivePlatform, deleteOldRows, type OldRows } from "../shared/archive.ts";
import { FIRST_ID } from "../shared/ids.ts";
import type { Platform } from "../shared/platform.ts";
import { numberBatch } from "./feed/read_page.ts";
import { INTEREST_DAYS } from "./job_events.ts";
import type { EventPlatform } from "./platform.ts";
import { KEY_HOURS } from "./publish.ts";
import { requeueDeliveries } from "./emit.ts";

const KEPT_DAYS = 30;
/** A delivery overdue by more than this may have lost its job. */
const OVERDUE_MINUTES = 15;

/** Deletes deliveries of more than 30 days ago that have ended, or that a pause keeps waiting. */
const pruneDeliveries = deleteExpired({
  table: "webhook_deliveries",
  column: "created_at",
  keptFor: `${KEPT_DAYS} days`,
  and: "(status <> 'Pending' or held)",
});

/**
 * Every ten minutes, enqueues lost delivery jobs again and numbers events that no poll has numbered. Deletes old events and
 * deliveries, the deliveries of deleted endpoints, and expired secrets, keys, counts and interests of polls.
 */
export const upkeepJob = maintenanceJob<EventPlatform>({
  name: "events.upkeep",
  cron: "*/10 * * * *",
  works: {
    resumed: { limit: 500, run: ifOn(resumeLost) },
    released: { limit: 500, run: ifOn(releaseForgotten) },
    numbered: { limit: 5_000, run: ({ sql }, { limit }) => numberBatch(sql, FIRST_ID, limit) },
    pruned: pruneDeliveries,
    removed: { limit: 1_000, run: deleteRemoved },
    prunedEvents: { limit: 1_000, run: pruneEvents },
    prunedSecrets: deleteExpired({ table: "webhook_secrets", column: "valid_until" }),
    prunedInterests: deleteExpired({
      table: "event_interests",
      column: "polled_at",
      keptFor: `${INTEREST_DAYS} days`,
    }),
    prunedCounts: deleteExpired({ table: "webhook_attempt_counts", column: "hour", keptFor: "48 hours" }),
    prunedKeys: deleteExpired({ table: "event_keys", column: "created_at", keptFor: `${KEY_HOURS} hours` }),
  },
});

/** Work that would make jobs, which end as unknown while the area is off. */
function ifOn(run: (p: EventPlatform, batch: Batch) => Promise<BatchResult>) {
  return async (p: EventPlatform, batch: Batch): Promise<BatchResult> =>
    p.config.AREAS.has("events") ? await run(p, batch) : { rows: 0, after: null };
}

/**
 * Gives held deliveries new jobs that wait neither for a paused endpoint nor for an earlier delivery: the job that
 * releases them was cancelled, or an instance of an earlier version ended the earlier delivery.
 */
async function releaseForgotten(
  p: Pick<Platform, "sql" | "wakeUps">,
  { limit, after }: Batch,
): Promise<BatchResult> {
  const released = await transact(p.sql, async (tx) => {
    const rows = await tx<{ id: string; tenantId: string }[]>`
      select d.id, e.tenant_id from webhook_endpoints e join webhook_deliveries d on d.endpoint_id = e.id
      where e.paused_at is null and e.deleted_at is null and d.status = 'Pending' and d.held
        and d.id > ${after ?? FIRST_ID}
        and d.next_attempt_at < now() - make_interval(mins => ${OVERDUE_MINUTES})
        and not exists (select from webhook_deliveries b where b.endpoint_id = d.endpoint_id
          and b.order_key = d.order_key and b.order_number < d.order_number and b.status = 'Pending')
      order by d.id limit ${limit} for share of e for update of d skip locked`;
    await requeueDeliveries(p, tx, rows);
    return rows;
  });
  const last = released.length < limit ? undefined : released.at(-1);
  return { rows: released.length, after: last?.id ?? null };
}

/** Deletes the deliveries of one deleted endpoint, in the order of their ids, and then its row. */
async function deleteRemoved({ sql }: Pick<Platform, "sql">, { limit, after }: Batch): Promise<BatchResult> {
  const [endpoint] = await sql<{ id: string }[]>`
    select id from webhook_endpoints where deleted_at is not null order by id limit 1`;
  if (!endpoint) return { rows: 0, after: null };
  const gone = await sql<{ id: string }[]>`
    delete from webhook_deliveries where id = any(array(
      select id from webhook_deliveries where endpoint_id = ${endpoint.id} and id > ${after ?? FIRST_ID}
      order by id limit ${limit}))
    returning id`;
  if (gone.length === limit) return { rows: limit, after: gone.map(({ id }) => id).sort().at(-1) ?? null };
  // The endpoint stays if deliveries remain: the position of another endpoint's batch may be behind its first deliveries.
  await sql`delete from webhook_endpoints e where id = ${endpoint.id}
    and not exists (select from webhook_deliveries where endpoint_id = e.id)`;
  return { rows: gone.length, after: FIRST_ID };
}

/** Enqueues a new job for Pending deliveries whose job has ended: it was cancelled, or failed on our side. */
export async function resumeLost(
  p: Pick<Platform, "sql" | "wakeUps">,
  { limit = 500, after = null }: Partial<Batch> = {},
): Promise<BatchResult> {
  const [dueAfter = "-infinity", idAfter = FIRST_ID] = after?.split(" ") ?? [];
  return await transact(p.sql, async (tx) => {
    const overdue = await tx<{ id: string; jobId: string; tenantId: string; nextAttemptAt: Date }[]>`
      select d.id, d.job_id, d.next_attempt_at, e.tenant_id from webhook_deliveries d
      join webhook_endpoints e on e.id = d.endpoint_id
      where e.deleted_at is null and d.status = 'Pending' and not d.held and d.next_attempt_at < now() - make_interval(mins => ${OVERDUE_MINUTES})
        and (d.next_attempt_at, d.id) > (${dueAfter}::text::timestamptz, ${idAfter}::text::uuid)
      order by d.next_attempt_at, d.id limit ${limit} for update of d skip locked`;
    const ends = await readJobEnds(tx, overdue.map(({ jobId }) => jobId));
    const lost = overdue.filter(({ jobId }) => ends.has(jobId));
    const last = overdue.length < limit ? undefined : overdue.at(-1);
    const result = {
      rows: lost.length,
      after: last ? `${last.nextAttemptAt.toISOString()} ${last.id}` : null,
    };
    await requeueDeliveries(p, tx, lost);
    return result;
  });
}

/** Deletes events of more than 30 days ago; returns how many. */
export async function pruneEvents(
  p: ArchivePlatform & Pick<Platform, "clock">,
  { limit = 1_000, after = null }: Partial<Batch> = {},
): Promise<BatchResult> {
  const old: OldRows = {
    kind: "events",
    table: "events",
    createdBefore: new Date(p.clock.now().getTime() - KEPT_DAYS * DAY_MS),
    isOld: (q) => q`true`,
    // Of the data, only ids: an erasure replaces the email and names of events, and its members may be anything.
    archived: (q) =>
      q`occurred_at, type, null as status, json_build_object('position', position, 'ids', (
        select json_object_agg(key, value)
        from json_each_text(case when json_typeof(data) = 'object' then data else '{}' end)
        where value ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
          and key ~ '^[A-Za-z][A-Za-z0-9_]{0,39}$')) as facts`,
  };
  return await deleteOldRows(p, old, { limit, after });
}
