import { z } from "zod";
import { type Sql, type SqlPart, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { problem } from "../problems/problem.ts";
import { type Caller, isSystemAdmin, type TenantCaller } from "../rights/caller.ts";
import { jobReach } from "../jobs/reach.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import type { Platform } from "../shared/platform.ts";
import { allOf, countList, pageOf } from "../shared/lists.ts";
import { time } from "../shared/shapes.ts";
import { insertDeliveries, requeueDeliveries } from "./emit.ts";
import { readEndpoint } from "./endpoints.ts";
import { eventBody, eventData, PING } from "./event_types.ts";

export const DELIVERY_STATUSES = ["Pending", "Delivered", "Failed"] as const;
export type DeliveryStatus = typeof DELIVERY_STATUSES[number];

/** Maximum number of a delivery's latest attempts that are shown. */
const ATTEMPTS_SHOWN = 20;

const DeliveryAttempt = z.object({
  number: z.int(),
  attemptedAt: time,
  durationMs: z.int(),
  statusCode: z.int().nullable().describe("Null: no answer"),
  error: z.string().nullable(),
  answer: z.string().nullable().describe("The first 1 KiB of the receiver's answer"),
}).meta({ id: "WebhookAttemptDto" });

/** One event for one endpoint, and its delivery status. */
export const Delivery = z.object({
  id: z.guid().describe("Also the `webhook-id` of every attempt"),
  endpointId: z.guid(),
  eventType: z.string(),
  status: z.enum(DELIVERY_STATUSES),
  body: z.string().describe("The JSON that is sent"),
  attemptCount: z.int(),
  createdAt: time,
  nextAttemptAt: time.nullable(),
  completedAt: time.nullable(),
  attempts: z.array(DeliveryAttempt).describe("The last 20 attempts, newest first"),
}).meta({ id: "WebhookDeliveryDto" });
export type Delivery = z.output<typeof Delivery>;

/** A delivery in a list over all endpoints. */
export const EndpointDelivery = Delivery.extend({
  tenantId: z.guid().describe("The tenant of the endpoint"),
  endpointUrl: z.string(),
}).meta({ id: "EndpointDeliveryDto" });
type EndpointDelivery = z.output<typeof EndpointDelivery>;

/** The deliveries to list or to send again. */
export interface DeliveryFilter {
  /** Limits a system administrator to one tenant. */
  tenantId?: string | undefined;
  endpointId?: string | undefined;
  /** Both times are inclusive. They apply to the end of a delivery; while it is pending, to its creation. */
  from?: Date | undefined;
  to?: Date | undefined;
}

/** Endpoints as the arguments of a job; null: of all tenants, all of the tenant. */
export interface EndpointScope {
  tenantId: string | null;
  endpointId: string | null;
  /** True if it includes endpoints that get the events of all tenants. */
  seesPlatform: boolean;
}

const columns = (q: Sql) =>
  q`d.id, d.endpoint_id, d.event_type, d.status, d.body, d.attempt_count, d.created_at, d.next_attempt_at,
    d.completed_at, (select coalesce(json_agg(json_build_object('number', a.number, 'attemptedAt', a.attempted_at,
      'durationMs', a.duration_ms, 'statusCode', a.status_code, 'error', a.error, 'answer', a.answer)
      order by a.number desc), '[]') from webhook_attempts a
      where a.delivery_id = d.id and a.number > d.attempt_count - ${ATTEMPTS_SHOWN}) as attempts`;

/** A page of an endpoint's deliveries in any status, newest first. @throws WEBHOOK_ENDPOINT_NOT_FOUND */
export async function listDeliveries(
  q: Sql,
  caller: TenantCaller,
  endpointId: string,
  request: PageRequest & { status?: DeliveryStatus | undefined },
): Promise<PagedResult<Delivery>> {
  await readEndpoint(q, caller, endpointId);
  const page = await listAllDeliveries(q, caller, { ...request, tenantId: caller.tenantId, endpointId });
  return { ...page, items: page.items.map(({ tenantId: _, endpointUrl: __, ...delivery }) => delivery) };
}

/**
 * A page of the deliveries of all endpoints that the caller may see, newest first. Each endpoint gives its newest ones by an
 * index, so a tenant with few deliveries does not search the others'.
 */
export async function listAllDeliveries(
  q: Sql,
  caller: Caller,
  request: PageRequest & DeliveryFilter & { status?: DeliveryStatus | undefined },
): Promise<PagedResult<EndpointDelivery>> {
  const { status, from, to } = request;
  const endpoints = q`webhook_endpoints e where ${isWithin(q, endpointScope(caller, request))}`;
  const where = allOf(q, [
    q`d.endpoint_id = e.id`,
    status !== undefined && q`d.status = ${status}`,
    from !== undefined && q`coalesce(d.completed_at, d.created_at) >= ${from}`,
    to !== undefined && q`coalesce(d.completed_at, d.created_at) <= ${to}`,
  ]);
  const most = offsetOf(request) + request.pageSize;
  const [total, items] = await Promise.all([
    countList(q, q`webhook_deliveries d, ${endpoints} and ${where}`),
    q<EndpointDelivery[]>`
      with page as (
        select newest.id from (select id from ${endpoints}) e cross join lateral (
          select d.id from webhook_deliveries d where ${where} order by d.id desc limit ${most}) newest
        order by newest.id desc ${pageOf(q, request)}
      )
      select ${columns(q)}, e.tenant_id, e.url as endpoint_url
      from webhook_deliveries d join webhook_endpoints e on e.id = d.endpoint_id
      where d.id = any(array(select id from page)) order by d.id desc`,
  ]);
  return pagedResult<EndpointDelivery>(items.map(withTimes), total, request);
}

/** The endpoints that a caller may see: those of the tenant or, for a system administrator, of all tenants. */
export function endpointScope(
  caller: Caller,
  { tenantId, endpointId = null }: { tenantId?: string | undefined; endpointId?: string | null | undefined },
): EndpointScope {
  const reach = jobReach(caller, tenantId);
  return {
    tenantId: reach.everything ? null : reach.tenantId,
    endpointId,
    seesPlatform: isSystemAdmin(caller),
  };
}

/** SQL condition: the endpoint `e` is in a scope. */
export const isWithin = (q: Sql, { tenantId, endpointId, seesPlatform }: EndpointScope): SqlPart =>
  allOf(q, [
    q`e.deleted_at is null`,
    tenantId !== null && q`e.tenant_id = ${tenantId}`,
    endpointId !== null && q`e.id = ${endpointId}`,
    !seesPlatform && q`not e.all_tenants`,
  ]);

/**
 * Sends an ended delivery again, with the same id and a new schedule of retries.
 * @throws WEBHOOK_ENDPOINT_NOT_FOUND, WEBHOOK_DELIVERY_NOT_FOUND, WEBHOOK_DELIVERY_PENDING_CONFLICT,
 * WEBHOOK_ENDPOINT_INACTIVE_CONFLICT
 */
export async function redeliver(
  p: Pick<Platform, "sql" | "wakeUps">,
  caller: TenantCaller,
  o: { endpointId: string; deliveryId: string },
): Promise<Delivery> {
  return await transact(p.sql, async (tx) => {
    await requireActive(tx, caller, o.endpointId);
    const [delivery] = await tx<{ status: DeliveryStatus }[]>`
      select status from webhook_deliveries where id = ${o.deliveryId} and endpoint_id = ${o.endpointId} for update`;
    if (!delivery) {
      throw problem("WEBHOOK_DELIVERY_NOT_FOUND", `The endpoint has no delivery ${o.deliveryId}.`);
    }
    if (delivery.status === "Pending") {
      throw problem(
        "WEBHOOK_DELIVERY_PENDING_CONFLICT",
        "The delivery is Pending; expected one that has ended.",
      );
    }
    await requeueDeliveries(p, tx, [{ id: o.deliveryId, tenantId: caller.tenantId }]);
    await recordAudit(tx, caller, "webhookDelivery.redeliver", o.deliveryId);
    return await readDelivery(tx, o.deliveryId);
  });
}

/** Sends a ping to an endpoint. @throws WEBHOOK_ENDPOINT_NOT_FOUND, WEBHOOK_ENDPOINT_INACTIVE_CONFLICT */
export async function sendPing(
  p: Pick<Platform, "sql" | "wakeUps" | "clock">,
  caller: TenantCaller,
  endpointId: string,
): Promise<Delivery> {
  return await transact(p.sql, async (tx) => {
    await requireActive(tx, caller, endpointId);
    const { tenantId } = caller;
    const data = eventData(PING, tenantId, { endpointId });
    const body = eventBody({ type: PING, tenantId, data }, p.clock.now());
    const [id = ""] = await insertDeliveries(p, tx, [{
      endpointId,
      tenantId,
      type: PING,
      body,
      object: null,
    }]);
    return await readDelivery(tx, id);
  });
}

/** @throws WEBHOOK_ENDPOINT_NOT_FOUND, WEBHOOK_ENDPOINT_INACTIVE_CONFLICT */
export async function requireActive(tx: Tx, caller: TenantCaller, endpointId: string): Promise<void> {
  const { value: { isActive } } = await readEndpoint(tx, caller, endpointId);
  if (isActive) return;
  throw problem("WEBHOOK_ENDPOINT_INACTIVE_CONFLICT", "The endpoint is not active; expected an active one.");
}

async function readDelivery(q: Sql, id: string): Promise<Delivery> {
  const [delivery] = await q<Delivery[]>`select ${columns(q)} from webhook_deliveries d where d.id = ${id}`;
  if (!delivery) throw new Error(`the delivery ${id} that was just written is missing`);
  return withTimes(delivery);
}

/** Converts the times of attempts to Date, because JSON from the database contains them as text. */
const withTimes = <D extends Delivery>(delivery: D): D => ({
  ...delivery,
  attempts: delivery.attempts.map((attempt) => ({ ...attempt, attemptedAt: new Date(attempt.attemptedAt) })),
});
