import assert from "node:assert/strict";
import { instanceSettings } from "../../support/instance_settings.ts";
import { HttpClient } from "../../support/http.ts";
import { type Actor, setup } from "../../support/setup.ts";

export const PATH = "/api/v1/service-accounts";
export const USERS = "/api/v1/users";
export const MANAGE = "manage:service-accounts";

type Answer = Promise<{ status: number; body: { code?: string } }>;

/** The status, and the code of a problem. */
export async function outcome(answer: Answer): Promise<string> {
  const { status, body } = await answer;
  return `${status} ${body?.code ?? ""}`.trim();
}

export const inTenant = (tenant: string | null) => ({ "x-tenant-id": tenant ?? "" });

export async function makeAccount(by: Actor, more: Record<string, unknown> = {}) {
  const account = { name: "Sync", permissions: ["read:users"], tenants: [by.tenantId], ...more };
  const { status, body } = await by.post(PATH, account);
  assert.equal(status, 201, JSON.stringify(body));
  return body as { id: string; clientId: string; secret: string; start: string };
}

/** Two instances on one database: `here` makes the changes, `there` is notified of them. */
export async function setupTwo() {
  const shared = await instanceSettings();
  const here = await setup(shared);
  const there = await setup(shared);
  const program = (secret: string, at = here) => new HttpClient(at.url, secret);
  return {
    here,
    there,
    program,
    usersOf: (secret: string, tenant: string | null, at = here) =>
      outcome(program(secret, at).get(USERS, inTenant(tenant))),
    maker: (permissions = ["read:users", "create:users", "read:roles"]) =>
      here.actor({ permissions: [MANAGE, ...permissions] }),
    stop: async () => {
      await Promise.all([here.stop(), there.stop()]);
    },
  };
}
