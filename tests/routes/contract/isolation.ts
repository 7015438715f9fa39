// Sends the requests of an outsider, who has all permissions in another tenant, to each endpoint.
import assert from "node:assert/strict";
import { askAsOutsider, MARKER, revealsNothing, victimsRows } from "../../support/isolation.ts";
import { ROWS } from "../isolation/all_rows.ts";
import { everyTenantPermission } from "../isolation/world.ts";
import { codeOf, forAll } from "./calls.ts";
import type { Contract } from "./contract.ts";

/** An outsider gets the answers of their row, and no row of the victim changes or appears. */
export async function outsiderMistakes({ world, endpoints }: Contract): Promise<string[]> {
  const found: string[] = [];
  const before = await victimsRows(world);
  for (const spec of endpoints) {
    const row = ROWS[spec.id];
    const failed = row && await askAsOutsider(world, spec, row).catch((error: Error) => error);
    if (failed) found.push(`${spec.id}: ${failed.message}`);
  }
  assert.deepEqual(await victimsRows(world), before, "nothing of the victim's was changed");
  return found;
}

/** A global token cannot use a tenant without a link, by header or by query. */
export async function contextMistakes(c: Contract): Promise<string[]> {
  const { t, world } = c;
  const global = await t.actor({ permissions: everyTenantPermission, global: true });
  const tenantId = world.ids.tenant;
  return await forAll(c.withCaller, async (spec) => {
    const byHeader = await c.send(global, spec, {}, { headers: { "x-tenant-id": tenantId } });
    revealsNothing(world, byHeader, new Set([tenantId]));
    const byQuery = await c.send(global, spec, { query: { tenantId } });
    const isFilter = spec.path.startsWith("/api/v1/admin/");
    const expected = `403 TENANT_FORBIDDEN 403 ${isFilter ? "MISSING_PERMISSION" : "TENANT_FORBIDDEN"}`;
    const answers = `${codeOf(byHeader)} ${codeOf(byQuery)}`;
    return answers === expected ? [] : [`${spec.id}: ${answers}, expected ${expected}`];
  });
}

/**
 * Endpoints that a service account may call without a tenant: for all its tenants at once, or with texts for everyone. On SCIM
 * routes an account of one tenant acts in it.
 */
const OPEN_WITHOUT_TENANT = [
  "checkAccess",
  "claimWork",
  "heartbeatWork",
  "listEventTypes",
  "pollEvents",
  "publishEvent",
  "settleWork",
];

/** A service account reaches no other tenant, and without a tenant only endpoints that need none. */
export async function accountMistakes(c: Contract): Promise<string[]> {
  const { t, world } = c;
  const { outsider, ids } = world;
  const maker = await t.actor({ tenantId: outsider.tenantId ?? "", permissions: everyTenantPermission });
  const { body } = await maker.post("/api/v1/service-accounts", {
    name: "Outsider's",
    permissions: everyTenantPermission,
    tenants: [outsider.tenantId],
  });
  const account = { token: body.secret };
  return await forAll(c.withCaller, async (spec) => {
    const named = codeOf(await c.send(account, spec, {}, { headers: { "x-tenant-id": ids.tenant } }));
    const unnamed = await c.send(account, spec, { query: { tenantId: ids.tenant } });
    revealsNothing(world, unnamed, new Set([ids.tenant]));
    const isOpen = OPEN_WITHOUT_TENANT.includes(spec.id) || spec.path.startsWith("/scim/");
    return [
      ...named === "403 TENANT_FORBIDDEN" ? [] : [`${spec.id} in another tenant: ${named}`],
      ...(unnamed.status !== 403) === isOpen ? [] : [`${spec.id} without a tenant: ${codeOf(unnamed)}`],
    ];
  });
}

/** Bodies that create something with a name that the victim uses. */
export const takenNames = ({ world: { ids } }: Contract): [id: string, body: Record<string, unknown>][] => [
  ["createRole", { name: `${MARKER} role` }],
  ["createPermission", { code: ids.permissionCode, description: "Own", category: "Own" }],
  ["createRecurringJob", {
    jobId: ids.recurringJob,
    jobTypeName: "steward.echo",
    cronExpression: "0 4 * * *",
  }],
  ["createNotificationTemplate", { slug: ids.templateSlug, name: "Own", textBodyTemplate: "x" }],
];
