// Calls that publish and poll events, for tests.
import assert from "node:assert/strict";
import { HttpClient } from "../../support/http.ts";
import type { TestService } from "../../support/setup.ts";

export const PATH = "/api/v1/events";

export interface Item {
  id: string;
  type: string;
  tenantId: string;
  data: Record<string, unknown>;
}

export const publisherOf = (t: TestService) =>
  t.actor({ permissions: ["publish:events", "read:events", "manage:webhooks"] });

export async function publish(
  by: HttpClient,
  data: Record<string, unknown>,
  type = "invoice.paid",
): Promise<Item> {
  const { status, body } = await by.post(PATH, { type, data });
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

export async function poll(by: HttpClient, query = ""): Promise<{ items: Item[]; next: string }> {
  const { status, body } = await by.get(`${PATH}?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

/** The cursor after all events of the caller. */
export const lastCursor = async (by: HttpClient) => (await poll(by, "limit=1000")).next;

export const numbers = ({ items }: { items: Item[] }) => items.map(({ data }) => data.n);

export const outcome = async (answer: Promise<{ status: number; body: { code?: string } }>) => {
  const { status, body } = await answer;
  return `${status} ${body.code ?? ""}`.trim();
};

/** A service account that publishes and polls. */
export async function accountOf(t: TestService, more: Record<string, unknown>) {
  const made = await t.systemAdmin.post("/api/v1/service-accounts", {
    name: "Poller",
    permissions: ["publish:events", "read:events"],
    ...more,
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  return { id: made.body.id as string, client: new HttpClient(t.url, made.body.secret) };
}
