// Calls of the routes of events and webhooks, for tests.
import assert from "node:assert/strict";
import { HttpClient } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { newUser } from "../access/users.ts";
import { Receiver } from "./receiver.ts";

export const PATH = "/api/v1/events";
export const ENDPOINTS = "/api/v1/webhook-endpoints";

export interface Item {
  id: string;
  type: string;
  tenantId: string;
  data: Record<string, unknown>;
}

export const publisherOf = (t: TestService) =>
  t.actor({ permissions: ["publish:events", "read:events", "manage:webhooks"] });

export const publish = (
  by: HttpClient,
  data: Record<string, unknown>,
  type = "invoice.paid",
): Promise<Item> => accepted(by.post(PATH, { type, data }), 201);

export const poll = (by: HttpClient, query = ""): Promise<{ items: Item[]; next: string }> =>
  accepted(by.get(`${PATH}?${query}`), 200);

/** The cursor after all events of the caller. It asks for no type: that would store events of jobs for its tenants. */
export async function lastCursor(by: HttpClient, after = "0"): Promise<string> {
  const { next } = await poll(by, `limit=1000&types=none.such&after=${after}`);
  return next === after ? next : await lastCursor(by, next);
}

export const numbers = ({ items }: { items: Item[] }) => items.map(({ data }) => data.n);

/** A service account that publishes and polls. */
export async function accountOf(t: TestService, more: Record<string, unknown>) {
  const account = { name: "Poller", permissions: ["publish:events", "read:events"], ...more };
  const { id, secret } = await accepted(t.systemAdmin.post("/api/v1/service-accounts", account), 201);
  return { id: id as string, client: new HttpClient(t.url, secret) };
}

/** Creates Ana Silva. */
export const createUser = (
  by: HttpClient,
  more: Record<string, unknown> = {},
  path = "/api/v1/users",
): Promise<{ id: string; email: string }> =>
  accepted(by.post(path, newUser({ lastName: "Silva", ...more })), 201);

export interface Hook {
  by: Actor;
  receiver: Receiver;
  id: string;
  secret: string;
  path: string;
}

const receivers: Receiver[] = [];

/** Creates an endpoint of a new tenant for `user.created`, unless `more` says otherwise. */
export async function hookOf(t: TestService, more: Record<string, unknown> = {}): Promise<Hook> {
  const by = await t.actor({
    permissions: ["manage:webhooks", "create:users", "read:users", "publish:events"],
  });
  const receiver = new Receiver();
  receivers.push(receiver);
  const endpoint = { url: receiver.url(), eventTypes: ["user.created"], ...more };
  const { id, secret } = await accepted(by.post(ENDPOINTS, endpoint), 201);
  return { by, receiver, id, secret, path: `${ENDPOINTS}/${id}` };
}

export async function stopReceivers(): Promise<void> {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.stop()));
}

export const answering = ({ receiver }: Pick<Hook, "receiver">, status: number) =>
  receiver.answers(() => new Response(null, { status }));

/** Resolves once the delivery has this state. */
export const deliveryIs = (
  { sql }: TestService,
  id: string,
  status: string,
  { held = false, attempts = 0 } = {},
) =>
  until(
    () =>
      sql`select d.status, d.held, d.attempt_count, j.status = 'Scheduled' as is_scheduled
      from webhook_deliveries d join jobs j on j.id = d.job_id where d.id = ${id}`,
    ([row]) =>
      row?.status === status && row.held === held && row.attemptCount >= attempts &&
      (status !== "Pending" || held || row.isScheduled),
    { what: `a delivery that is ${held ? "held" : status} after ${attempts} attempts` },
  );

/** Sends a test event. @returns the id of the delivery */
export async function ping({ by, path }: Hook): Promise<string> {
  const { id, status, eventType } = await accepted(by.post(`${path}/test`, {}), 202);
  assert.deepEqual([status, eventType], ["Pending", "webhook.ping"]);
  return id;
}
