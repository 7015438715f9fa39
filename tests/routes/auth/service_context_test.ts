// What admin:system gives without a tenant, and what changes when a global token names one.
import assert from "node:assert/strict";
import { type Actor, setupShared } from "../../support/setup.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

const EVERYTHING = [
  ...["read:users", "send:notifications", "read:files", "upload:files", "retain:files", "purge:files"],
];
const [foreign, linked] = await Promise.all([
  t.actor({ permissions: EVERYTHING }),
  t.actor({ permissions: EVERYTHING }),
]);
const admin = await t.actor({ role: "SystemAdmin", global: true });
await holdToo(admin.userId, linked.tenantId ?? "", linked.roleId ?? "");

/** Links a user to a tenant with an additional role. */
async function holdToo(userId: string, tenantId: string, roleId: string): Promise<void> {
  await sql`insert into user_tenants (user_id, tenant_id) values (${userId}, ${tenantId}) on conflict do nothing`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id) values (${userId}, ${tenantId}, ${roleId})`;
}

/** A role of the platform tenant with these permissions. */
async function platformRole(permissions: string[]): Promise<string> {
  return (await t.actor({ tenantId: t.platformTenantId, permissions })).roleId ?? "";
}

/** Permissions changed directly in the database are cached for 600 ms. */
const forgotten = () => new Promise((resolve) => setTimeout(resolve, 650));

type Made = Record<string, string>;

/** One entry of every list, by the list's path. */
async function makeAll(actor: Actor, isService: boolean): Promise<Made> {
  const make = async (path: string, body: unknown) => {
    const answer = await actor.post(`/api/v1${path}`, body);
    assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const message = {
    channel: "Email",
    recipients: [{ address: "ann@example.test" }],
    subject: "A",
    textBody: "B",
  };
  const [job, failed, recurring, notification, template, suppression, report, schedule] = await Promise.all([
    make("/jobs", { jobTypeName: "steward.echo", serializedArgs: "{}" }),
    make("/jobs", { jobTypeName: "steward.fail", serializedArgs: '{"message":"no"}', maxRetries: 0 }),
    make("/recurring-jobs", {
      jobId: `j-${crypto.randomUUID()}`,
      jobTypeName: "steward.echo",
      cronExpression: "0 0 1 1 *",
      timeZoneId: "UTC",
    }),
    make("/notifications/send", message),
    make("/notification-templates", {
      slug: `s-${crypto.randomUUID()}`,
      name: "N",
      subjectTemplate: "S",
      locale: "en",
      htmlBodyTemplate: "<p>x</p>",
    }),
    make("/notification-suppressions", { channel: "Email", address: `${crypto.randomUUID()}@example.test` }),
    make("/reports/generate", { templateId: "users", format: 3 }),
    make("/reports/schedules", {
      templateId: "users",
      name: "S",
      cronExpression: "0 0 1 1 *",
      format: 3,
      delivery: { method: 1 },
    }),
  ]);
  assert.equal(await t.settled(failed.id), "DeadLettered");
  const [dead] = await sql<{ id: string }[]>`select id from dead_letter_jobs where job_id = ${failed.id}`;
  const file = isService ? null : await make("/files", {
    profile: "document",
    fileName: "a.txt",
    contentType: "text/plain",
    sizeBytes: 1,
  });
  return {
    "/jobs": job.id,
    "/recurring-jobs": recurring.jobId,
    "/dead-letter-jobs": dead?.id ?? "",
    "/notifications": notification.notificationId,
    "/notification-templates": template.id,
    "/notification-suppressions": suppression.id,
    "/reports/history": report.id,
    "/reports/schedules": schedule.id,
    ...file ? { "/files": file.fileId } : {},
  };
}
const theirs = await makeAll(foreign, false);
const ours = await makeAll(linked, false);
const services = await makeAll(admin, true);
const OF_JOBS = ["/jobs", "/recurring-jobs", "/dead-letter-jobs"];
const PATHS = Object.keys(theirs);

const idsOf = async (actor: Pick<Actor, "get">, path: string, query = ""): Promise<string[]> => {
  const { status, body } = await actor.get(`/api/v1${path}?pageSize=100${query}`);
  assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
  return body.items.map((item: Record<string, string>) => path === "/recurring-jobs" ? item.jobId : item.id);
};
const readOf = (path: string, id: string | undefined) =>
  `/api/v1${path === "/reports/history" ? "/reports" : path}/${id}`;

Deno.test("without a tenant admin:system sees all jobs, but only the service's own messages and reports", async () => {
  for (const path of PATHS.filter((path) => path !== "/files")) {
    const ids = await idsOf(admin, path);
    const seesAll = OF_JOBS.includes(path);
    assert.ok(ids.includes(services[path] ?? ""), `${path}: the service's own`);
    assert.equal(ids.includes(theirs[path] ?? ""), seesAll, `${path}: a tenant's`);
    assert.equal((await admin.get(readOf(path, services[path]))).status, 200, path);
    if (path === "/recurring-jobs") continue; // read by a name that is unique only in its tenant
    assert.equal((await admin.get(readOf(path, theirs[path]))).status, seesAll ? 200 : 404, path);
  }
});

Deno.test("a tenant named by a global token needs a link, on every route of these areas", async () => {
  const { body: document } = await t.nobody.get("/openapi.json");
  const areas = /^\/api\/v1\/(jobs|recurring-jobs|dead-letter-jobs|notification|reports|files)/;
  const routes = Object.entries<Record<string, unknown>>(document.paths)
    .filter(([path, methods]) => areas.test(path) && methods.get && !path.endsWith("/unsubscribe")).map((
      [path],
    ) => path);
  assert.ok(routes.length > 25, `${routes}`);
  const somewhere = (path: string) => path.replaceAll(/\{\w+\}/g, crypto.randomUUID());
  for (const route of routes) {
    const path = somewhere(route);
    const byQuery = await admin.get(`${path}?tenantId=${foreign.tenantId}`);
    const byHeader = await admin.with({ "x-tenant-id": foreign.tenantId ?? "" }).get(path);
    for (const { status, body } of [byQuery, byHeader]) {
      assert.deepEqual([status, body.code], [403, "TENANT_FORBIDDEN"], route);
    }
  }
  for (const path of PATHS) {
    const query = `&tenantId=${linked.tenantId}`;
    const ids = await idsOf(admin, path, query);
    assert.ok(ids.includes(ours[path] ?? ""), `${path}: the named tenant's`);
    assert.ok(!ids.includes(theirs[path] ?? ""), `${path}: another's`);
    assert.ok(!ids.includes(services[path] ?? ""), `${path}: the service's`);
    const byHeader = admin.with({ "x-tenant-id": linked.tenantId ?? "" });
    assert.deepEqual(await idsOf(byHeader, path), ids, path);
  }
});

Deno.test("without a tenant nobody else has access, whatever permissions they have in the platform tenant", async () => {
  const other = await t.actor({ tenantId: t.platformTenantId, permissions: EVERYTHING, global: true });
  for (const path of PATHS) {
    const { status, body } = await other.get(`/api/v1${path}`);
    assert.deepEqual([status, body.code], [403, "FORBIDDEN"], path);
  }
});

Deno.test("product files can be used without a tenant by the file permissions of the platform tenant", async () => {
  const global = await t.actor({ role: "SystemAdmin", global: true });
  const reservation = { profile: "document", fileName: "a.txt", contentType: "text/plain", sizeBytes: 1 };
  const { body: refused, status } = await global.post("/api/v1/files", reservation);
  assert.deepEqual(
    [status, refused.code],
    [403, "MISSING_PERMISSION"],
    "admin:system alone opens no file route",
  );
  await holdToo(global.userId, t.platformTenantId, await platformRole(["read:files", "upload:files"]));
  await forgotten();
  const product = await global.post("/api/v1/files", reservation);
  assert.equal(product.status, 201, JSON.stringify(product.body));
  const path = `/api/v1/files/${product.body.fileId}`;
  assert.equal((await global.get(path)).body.tenantId, null);
  const ids = await idsOf(global, "/files");
  assert.ok(ids.includes(product.body.fileId) && !ids.includes(theirs["/files"] ?? ""));
  assert.equal((await global.get(readOf("/files", theirs["/files"]))).body.code, "FILE_NOT_FOUND");
  const hold = { legalHold: true };
  assert.equal((await global.put(`${path}/retention`, hold)).body.code, "MISSING_PERMISSION");
  await holdToo(global.userId, t.platformTenantId, await platformRole(["retain:files"]));
  await forgotten();
  assert.equal((await global.put(`${path}/retention`, hold)).status, 200);
  // a tenant's file permissions give nothing in the service's context
  const elsewhere = await t.actor({ role: "SystemAdmin", global: true });
  await holdToo(elsewhere.userId, linked.tenantId ?? "", linked.roleId ?? "");
  assert.equal((await elsewhere.get(path)).body.code, "MISSING_PERMISSION");
});
