import { z } from "zod";
import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { invalid, problem } from "../problems/problem.ts";
import { type Caller, holds } from "../rights/caller.ts";
import type { RightsPlatform } from "../rights/platform.ts";
import { newId } from "../shared/ids.ts";
import { anyObject, orUndefined, requiredName, time, uuid } from "../shared/shapes.ts";
import { storeEvents } from "./emit.ts";
import { MAX_TYPE_LENGTH, ownDataMistake, ownTypeMistake } from "./event_types.ts";
import type { EventPlatform } from "./platform.ts";

/** The permission to publish events. */
export const PUBLISH = "publish:events";
/** For how long the same type and key is the same event. */
export const KEY_HOURS = 24;

/** An event that a caller publishes. */
export const PublishedEvent = z.object({
  type: z.string().min(1).max(MAX_TYPE_LENGTH).describe(
    "Such as `invoice.paid`; no type of the service or of an extension",
  ),
  tenantId: orUndefined(uuid).describe("Absent: the tenant of the request"),
  data: anyObject.describe("At most 64 KiB of JSON"),
  key: orUndefined(requiredName(200)),
}).meta({ id: "PublishEventRequest" });

export const PublishResult = z.object({
  id: z.guid(),
  type: z.string(),
  tenantId: z.guid(),
  occurredAt: time,
  data: z.unknown(),
}).meta({ id: "EventDto" });
export type PublishResult = z.output<typeof PublishResult>;

/**
 * Publishes an event of the caller's own. With a key, the same type and key within 24 hours is the same event.
 * @returns the event, and whether it had been published before
 * @throws VALIDATION_ERROR, CROSS_TENANT_FORBIDDEN, TENANT_FORBIDDEN, MISSING_PERMISSION
 */
export async function publishEvent(
  p: Pick<RightsPlatform & EventPlatform, "sql" | "rights" | "wakeUps" | "eventTypes">,
  caller: Caller,
  event: z.output<typeof PublishedEvent>,
): Promise<{ event: PublishResult; isDuplicate: boolean }> {
  const mistake = ownTypeMistake(event.type, p.eventTypes);
  if (mistake) throw invalid({ type: [mistake] });
  const dataMistake = ownDataMistake(event.data);
  if (dataMistake) throw invalid({ data: [dataMistake] });
  const tenantId = await publishingTenant(p, caller, event.tenantId);
  const { type, data, key } = event;
  return await transact(p.sql, async (tx) => {
    const id = newId();
    const known = key === undefined ? null : await claimKey(tx, { tenantId, type, key, id });
    if (known) return { event: known, isDuplicate: true };
    const occurredAt = await storeEvents(p, tx, [{ id, type, tenantId, data }]);
    if (occurredAt === null) throw new Error("an inserted event was not returned");
    return { event: { id, type, tenantId, occurredAt, data }, isDuplicate: false };
  });
}

/** The tenant of a published event: that of the request, or without one, any that the caller serves. */
async function publishingTenant(
  p: Pick<RightsPlatform, "sql" | "rights">,
  caller: Caller,
  tenantId: string | undefined,
): Promise<string> {
  if (caller.tenantId !== null) {
    if (tenantId === undefined || tenantId === caller.tenantId) return caller.tenantId;
    throw problem(
      "CROSS_TENANT_FORBIDDEN",
      `The request acts in tenant ${caller.tenantId}; the event names tenant ${tenantId}.`,
    );
  }
  if (tenantId === undefined) throw invalid({ tenantId: ["expected the event's tenant, or X-Tenant-ID"] });
  const held = caller.serviceAccount
    ? await p.rights.keys.permissionsIn(caller.userId, tenantId)
    : await isActiveTenant(p.sql, tenantId) && caller;
  if (!held) {
    throw problem(
      "TENANT_FORBIDDEN",
      `The caller does not act in tenant ${tenantId}, or the tenant is not active.`,
    );
  }
  if (holds(held, PUBLISH)) return tenantId;
  throw problem("MISSING_PERMISSION", `The service account does not hold ${PUBLISH} in tenant ${tenantId}.`);
}

async function isActiveTenant(q: Sql, tenantId: string): Promise<boolean> {
  const [tenant] = await q`select from tenants where id = ${tenantId} and is_active and deleted_at is null`;
  return tenant !== undefined;
}

/** Reserves a key for the event. Returns the event that has it, if it is younger than 24 hours. */
async function claimKey(
  tx: Tx,
  { tenantId, type, key, id }: { tenantId: string; type: string; key: string; id: string },
): Promise<PublishResult | null> {
  const claimed = await tx`
    insert into event_keys (tenant_id, type, key, event_id) values (${tenantId}, ${type}, ${key}, ${id})
    on conflict (tenant_id, type, key) do update set event_id = excluded.event_id, created_at = excluded.created_at
      where event_keys.created_at <= now() - make_interval(hours => ${KEY_HOURS})
    returning event_id`;
  if (claimed.length > 0) return null;
  const [known] = await tx<PublishResult[]>`
    select e.id, e.type, e.tenant_id, e.occurred_at, e.data from event_keys k join events e on e.id = k.event_id
    where k.tenant_id = ${tenantId} and k.type = ${type} and k.key = ${key}`;
  if (!known) throw new Error(`the event of the key ${key} is missing`);
  return known;
}
