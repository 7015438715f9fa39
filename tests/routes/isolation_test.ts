import assert from "node:assert/strict";
import { ENDPOINTS } from "../../routes/endpoints.ts";
import {
  hasRowForEachRoute,
  keepsFromOutsider,
  MARKER,
  refusesWithoutToken,
  revealsNothing,
  send,
} from "../support/isolation.ts";
import { HttpClient } from "../support/http.ts";
import { setup } from "../support/setup.ts";
import { ROWS } from "./isolation/all_rows.ts";
import { buildWorld, everyTenantPermission } from "./isolation/world.ts";

/** Routes that a service account may call without a tenant: for all its tenants at once, or with texts for everyone. */
const OPEN_WITHOUT_TENANT = [
  "checkAccess",
  "claimWork",
  "heartbeatWork",
  "listEventTypes",
  "pollEvents",
  "publishEvent",
  "settleWork",
];

// No worker runs jobs, so every change comes from a request.
const t = await setup({ JOB_CONCURRENCY: "0" });
Deno.test.afterAll(() => t.stop());
const world = await buildWorld(t);

Deno.test("the table of rows contains every registered route and no other", () => {
  hasRowForEachRoute(ENDPOINTS, ROWS);
});

Deno.test("every route that needs a caller answers TOKEN_MISSING without a token, before any other check", () =>
  refusesWithoutToken(t.nobody, ENDPOINTS));

Deno.test("a global token cannot use a tenant without a link, by header or by query", async () => {
  const global = await t.actor({ permissions: everyTenantPermission, global: true });
  const tenantId = world.ids.tenant;
  for (const spec of ENDPOINTS.filter((spec) => spec.access.needsCaller)) {
    const byHeader = await send(global, spec, {}, { "x-tenant-id": tenantId });
    assert.equal(`${byHeader.status} ${byHeader.body.code}`, "403 TENANT_FORBIDDEN", spec.id);
    revealsNothing(world, byHeader, new Set([tenantId]));
    const byQuery = await send(global, spec, { query: { tenantId } });
    const expected = spec.path.startsWith("/api/v1/admin/") ? "MISSING_PERMISSION" : "TENANT_FORBIDDEN";
    assert.equal(`${byQuery.status} ${byQuery.body.code}`, `403 ${expected}`, spec.id);
  }
});

Deno.test("a service account reaches no other tenant, and without a tenant only routes that need none", async () => {
  const { outsider } = world;
  const maker = await t.actor({ tenantId: outsider.tenantId ?? "", permissions: everyTenantPermission });
  const { body } = await maker.post("/api/v1/service-accounts", {
    name: "Outsider's",
    permissions: everyTenantPermission,
    tenants: [outsider.tenantId],
  });
  const account = new HttpClient(t.url, body.secret);
  const open: string[] = [];
  for (const spec of ENDPOINTS.filter((spec) => spec.access.needsCaller)) {
    const named = await send(account, spec, {}, { "x-tenant-id": world.ids.tenant });
    assert.equal(`${named.status} ${named.body.code}`, "403 TENANT_FORBIDDEN", spec.id);
    const unnamed = await send(account, spec, { query: { tenantId: world.ids.tenant } });
    if (unnamed.status !== 403) open.push(spec.id);
    revealsNothing(world, unnamed, new Set([world.ids.tenant]));
  }
  assert.deepEqual(open.sort(), OPEN_WITHOUT_TENANT);
});

for (const spec of ENDPOINTS) {
  const row = ROWS[spec.id];
  if (!row || "open" in row && !spec.access.needsCaller) continue;
  Deno.test(`an outsider gets nothing of another tenant from ${spec.method} ${spec.path}`, () =>
    keepsFromOutsider(world, spec, row));
}

Deno.test("names are unique per tenant, so a conflict reveals nothing of another tenant", async () => {
  const { outsider, ids } = world;
  const attempts: [string, Record<string, unknown>][] = [
    ["/api/v1/roles", { name: `${MARKER} role` }],
    ["/api/v1/permissions", { code: ids.permissionCode, description: "Own", category: "Own" }],
    ["/api/v1/recurring-jobs", {
      jobId: ids.recurringJob,
      jobTypeName: "steward.echo",
      cronExpression: "0 4 * * *",
    }],
    ["/api/v1/notification-templates", { slug: ids.templateSlug, name: "Own", textBodyTemplate: "x" }],
  ];
  for (const [path, body] of attempts) {
    const answer = await outsider.post(path, body);
    assert.equal(answer.status, 201, `${path}: ${JSON.stringify(answer.body)}`);
  }
});

Deno.test("all of the victim's objects still exist and work for the victim", async () => {
  const { victim, ids } = world;
  const paths = [
    `/api/v1/users/${ids.user}`,
    `/api/v1/roles/${ids.role}`,
    `/api/v1/permissions/${ids.permission}`,
    `/api/v1/jobs/${ids.job}`,
    `/api/v1/recurring-jobs/${ids.recurringJob}`,
    `/api/v1/files/${ids.file}`,
    `/api/v1/notifications/${ids.notification}`,
    `/api/v1/notification-templates/${ids.template}`,
    `/api/v1/reports/${ids.execution}`,
  ];
  for (const path of paths) assert.equal((await victim.get(path)).status, 200, path);
});
