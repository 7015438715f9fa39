import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { bearer, PASSWORD, person, signedIn, signIn, withToken } from "./people.ts";
import { insertLink } from "../access/users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const ME = "/auth/me";

const [mine = "", second = "", deactivated = "", closed = "", foreign = ""] = await Promise.all(
  Array.from({ length: 5 }, () => t.tenant()),
);
const user = await signedIn(t, { links: [mine, second, deactivated, closed] });
await sql`update user_tenants set is_active = false where user_id = ${user.id} and tenant_id = ${deactivated}`;
await sql`update tenants set is_active = false where id = ${closed}`;
const globalOf = async ({ email }: { email: string }) =>
  bearer(t, await signIn(t, email, PASSWORD, { global: true }));
const global = await globalOf(user);
const inTenant = (id: string) => ({ "x-tenant-id": id });

Deno.test("an administrator of the platform creates a tenant and a role in it by the documented steps", async () => {
  const admin = await signedIn(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  const tenant = await accepted(admin.me.post("/api/v1/tenants", { name: `Acme ${admin.id}` }), 201);
  const [inAcme, clerk] = [inTenant(tenant.id), { name: `Clerk ${admin.id}` }];
  const astray = await admin.me.post("/api/v1/roles", clerk, inAcme);
  assert.equal((await accepted(astray, 201)).tenantName, "Platform");
  assert.equal(astray.headers.get("steward-ignored-headers"), "X-Tenant-ID");
  const roles = await accepted(admin.me.get(`/api/v1/admin/tenants/${tenant.id}/roles?search=Admin`));
  const catalog = roles.items.find(({ name }: { name: string }) => name === "Admin");
  const links = (id: string) => `/api/v1/admin/users/${id}/tenants`;
  const link = { tenantId: tenant.id, roleIds: [catalog.id], isDefault: false };
  await accepted(admin.me.post(links(admin.id), link), 201);
  const global = await globalOf(admin);
  const role = await global.post("/api/v1/roles", clerk, inAcme);
  assert.equal((await accepted(role, 201)).tenantName, tenant.name);
  assert.equal(role.headers.get("steward-ignored-headers"), null);
  const wrong = await global.post(links((await person(t)).id), { ...link, roleIds: [astray.body.id] });
  await refused("404 ROLE_NOT_FOUND", wrong);
  assert.match(wrong.body.detail, /Tenant "Acme .*" \(.*\) has no role .*belongs to one tenant/);
});

Deno.test("a global token names its tenant by header or query, or by both if they are equal", async () => {
  const { tenant, permissions } = await accepted(global.get(ME, inTenant(second.toUpperCase())));
  assert.equal(tenant.id, second);
  assert.ok(permissions.includes("read:users"));
  await accepted(global.get("/api/v1/users", inTenant(second)));
  const requests: [string, Record<string, string>][] = [
    [`tenantId=${mine}`, {}],
    [`tenantId=${mine}`, inTenant(mine)],
    [`tenantId=${mine}&tenantId=${mine}`, {}],
    [`tenant%49d=${mine}`, {}],
  ];
  for (const [query, headers] of requests) {
    assert.equal((await accepted(global.get(`${ME}?${query}`, headers))).tenant.id, mine, query);
  }
});

Deno.test("unlinked, unknown, deactivated and closed tenants get the same 403, also with admin:system", async () => {
  for (const id of [foreign, newId(), deactivated, closed]) {
    const answers = [global.get(ME, inTenant(id)), global.get(`/api/v1/users?tenantId=${id}`)];
    await refused("403 TENANT_FORBIDDEN", ...answers);
  }
  const admin = await t.actor({ role: "SystemAdmin", global: true });
  await refused("403 TENANT_FORBIDDEN", admin.get("/api/v1/users", inTenant(foreign)));
  for (const path of ["/api/v1/admin/users", "/api/v1/%61dmin/users"]) { // where the tenant only filters
    await accepted(admin.get(`${path}?tenantId=${foreign}`));
  }
});

Deno.test("a malformed tenant, and two different ones, are rejected as invalid, but after an invalid token", async () => {
  const wrong: [string, Record<string, string>][] = [
    ["", inTenant("mine")],
    ["tenantId=1", {}],
    [`tenantId=${second}`, inTenant(mine)],
    [`tenantId=${mine}&tenantId=${second}`, {}],
    ["", inTenant(`${mine}, ${second}`)],
  ];
  for (const [query, headers] of wrong) {
    const answer = await global.get(`${ME}?${query}`, headers);
    await refused("400 VALIDATION_ERROR", answer);
    assert.match(answer.body.errors[0], /^tenantId: /);
  }
  const ended = await globalOf(user);
  await accepted(ended.post("/auth/logout"));
  await refused("401 TOKEN_REVOKED", ended.get(ME, inTenant("mine")));
});

Deno.test("header and query are ignored when the token has a tenant, even if malformed", async () => {
  for (const id of [second, foreign, "no-uuid"]) {
    const { tenant } = await accepted(user.me.get(`${ME}?tenantId=${id}`, inTenant(id)));
    assert.equal(tenant.id, mine);
  }
  const lists = ["jobs", "jobs/batches", "recurring-jobs", "audit-log", "roles"];
  for (const list of lists) {
    for (const id of [foreign, "a%00b"]) {
      const answer = await user.me.get(`/api/v1/${list}?tenantId=${id}`);
      await accepted(answer);
      assert.equal(answer.headers.get("steward-ignored-members"), null);
    }
  }
});

Deno.test("without a tenant only platform-reach permissions of the platform tenant count", async () => {
  const permissionsOf = async (actor: Parameters<typeof t.actor>[0]) => {
    const { token } = await t.actor({ ...actor, global: true });
    const client = withToken(t, token ?? "");
    return { client, permissions: (await accepted(client.get(ME))).permissions };
  };
  assert.deepEqual((await permissionsOf({ role: "SystemAdmin" })).permissions, ["admin:system"]);
  const ordinary = await permissionsOf({ role: "Admin", tenantId: t.platformTenantId });
  assert.deepEqual(ordinary.permissions, ["read:files", "upload:files"], "for product files");
  await refused("403 MISSING_PERMISSION", ordinary.client.get("/api/v1/admin/users"));
  assert.deepEqual((await permissionsOf({ permissions: ["manage:all-users"] })).permissions, []);
});

const OF_FILES = ["read:files", "upload:files", "retain:files", "purge:files"];
const EVERYTHING = ["read:users", "send:notifications", ...OF_FILES];
const stranger = await t.actor({ permissions: EVERYTHING });
const admin = await t.actor({ role: "SystemAdmin", global: true });

type Made = Record<string, string>;

/** One entry of every list, by the list's path. */
async function makeAll(actor: Actor, isService: boolean): Promise<Made> {
  const make = (path: string, body: unknown) => accepted(actor.post(`/api/v1${path}`, body));
  const unique = crypto.randomUUID();
  const recipients = [{ address: "ann@example.test" }];
  const yearly = { cronExpression: "0 0 1 1 *" };
  const echo = { jobTypeName: "steward.echo", serializedArgs: "{}" };
  const fail = { jobTypeName: "steward.fail", serializedArgs: '{"message":"no"}', maxRetries: 0 };
  const template = { slug: `s-${unique}`, name: "N", subjectTemplate: "S", htmlBodyTemplate: "<p>x</p>" };
  const delivered = { templateId: "users", format: 3, name: "S", delivery: { method: 1 } };
  const suppressed = { channel: "Email", address: `${unique}@example.test` };
  const [job, failed, recurring, notification, made, suppression, report, schedule] = await Promise.all([
    make("/jobs", echo),
    make("/jobs", fail),
    make("/recurring-jobs", { jobId: `j-${unique}`, jobTypeName: "steward.echo", ...yearly }),
    make("/notifications/send", { channel: "Email", recipients, subject: "A", textBody: "B" }),
    make("/notification-templates", template),
    make("/notification-suppressions", suppressed),
    make("/reports/generate", { templateId: "users", format: 3 }),
    make("/reports/schedules", { ...delivered, ...yearly }),
  ]);
  assert.equal(await t.settled(failed.id), "DeadLettered");
  const [dead] = await sql<{ id: string }[]>`select id from dead_letter_jobs where job_id = ${failed.id}`;
  const file = isService ? null : await make("/files", FILE);
  return {
    "/jobs": job.id,
    "/recurring-jobs": recurring.jobId,
    "/dead-letter-jobs": dead?.id ?? "",
    "/notifications": notification.notificationId,
    "/notification-templates": made.id,
    "/notification-suppressions": suppression.id,
    "/reports/history": report.id,
    "/reports/schedules": schedule.id,
    ...file ? { "/files": file.fileId } : {},
  };
}
const FILE = { profile: "document", fileName: "a.txt", contentType: "text/plain", sizeBytes: 1 };
const theirs = await makeAll(stranger, false);
const services = await makeAll(admin, true);
const OF_JOBS = ["/jobs", "/recurring-jobs", "/dead-letter-jobs"];
const PATHS = Object.keys(theirs);

const idsOf = async (actor: Pick<Actor, "get">, path: string, query = ""): Promise<string[]> => {
  const { items } = await accepted(actor.get(`/api/v1${path}?pageSize=100${query}`));
  return items.map((item: Record<string, string>) => path === "/recurring-jobs" ? item.jobId : item.id);
};
const readOf = (path: string, id: string | undefined) => `/api/v1${path.replace("/history", "")}/${id}`;

Deno.test("without a tenant admin:system sees all jobs, but only the service's own messages and reports", async () => {
  for (const path of PATHS.filter((path) => path !== "/files")) {
    const ids = await idsOf(admin, path);
    const seesAll = OF_JOBS.includes(path);
    assert.ok(ids.includes(services[path] ?? ""), `${path}: the service's own`);
    assert.equal(ids.includes(theirs[path] ?? ""), seesAll, `${path}: a tenant's`);
    await accepted(admin.get(readOf(path, services[path])));
    if (path === "/recurring-jobs") continue; // read by a name that is unique only in its tenant
    assert.equal((await admin.get(readOf(path, theirs[path]))).status, seesAll ? 200 : 404, path);
  }
});

Deno.test("lists show a global token what is of the tenant that it names, by query or by header", async () => {
  const linked = await t.actor({ role: "SystemAdmin", global: true });
  await insertLink(t, linked.userId, stranger.tenantId, stranger.roleId);
  for (const path of PATHS) {
    const ids = await idsOf(linked, path, `&tenantId=${stranger.tenantId}`);
    const [own, ofService] = [theirs, services].map((made) => ids.includes(made[path] ?? ""));
    assert.deepEqual([own, ofService], [true, false], path);
    assert.deepEqual(await idsOf(linked.with({ "x-tenant-id": stranger.tenantId ?? "" }), path), ids, path);
  }
});

Deno.test("without a tenant admin:system publishes events of any tenant, polls them, and asks access checks", async () => {
  const { tenantId = "", userId } = stranger;
  const type = `thing.n${crypto.randomUUID()}`;
  await refused("400 VALIDATION_ERROR", admin.post("/api/v1/events", { type, data: {} }));
  await refused("403 TENANT_FORBIDDEN", admin.post("/api/v1/events", { type, data: {}, tenantId: userId }));
  await accepted(admin.post("/api/v1/events", { type, data: {}, tenantId }), 201);
  const { items } = await accepted(admin.get(`/api/v1/events?types=${type}`));
  assert.deepEqual(items.map((event: { tenantId: string }) => event.tenantId), [tenantId]);
  const checks = [{ userId, tenantId, permission: "read:files" }];
  const { results } = await accepted(admin.post("/api/v1/access/check", { checks }));
  assert.equal(results[0].allowed, true);
  const other = await t.actor({ permissions: ["publish:events", "read:events"], global: true });
  const attempts = [other.post("/api/v1/events", { type, data: {}, tenantId }), other.get("/api/v1/events")];
  await refused("403 FORBIDDEN", ...attempts);
});

Deno.test("product files can be used without a tenant by the file permissions of the platform tenant", async () => {
  /** A system administrator without a tenant, who also holds these permissions in the platform tenant. */
  const globalWith = async (...permissions: string[]) => {
    const global = await t.actor({ role: "SystemAdmin", global: true });
    const { roleId } = await t.actor({ tenantId: t.platformTenantId, permissions });
    await insertLink(t, global.userId, t.platformTenantId, roleId ?? "");
    return global;
  };
  const missing = "403 MISSING_PERMISSION";
  await refused(missing, (await globalWith()).post("/api/v1/files", FILE)); // admin:system alone opens no file route
  const global = await globalWith("read:files", "upload:files");
  const { fileId } = await accepted(global.post("/api/v1/files", FILE), 201);
  const path = `/api/v1/files/${fileId}`;
  assert.equal((await accepted(global.get(path))).tenantId, null);
  const ids = await idsOf(global, "/files");
  assert.ok(ids.includes(fileId) && !ids.includes(theirs["/files"] ?? ""));
  await refused("404 FILE_NOT_FOUND", global.get(readOf("/files", theirs["/files"])));
  const hold = (by: Actor) => by.put(`${path}/retention`, { legalHold: true });
  await refused(missing, hold(global));
  await accepted(hold(await globalWith("retain:files")));
  const ordinary = await t.actor({ tenantId: t.platformTenantId, permissions: EVERYTHING, global: true });
  assert.equal((await accepted(ordinary.get(path))).tenantId, null);
  await refused(missing, ordinary.post("/api/v1/files", FILE), hold(ordinary));
  // nobody but admin:system has access to the rest, whatever they hold in the platform tenant
  const others = PATHS.filter((path) => path !== "/files");
  await refused("403 FORBIDDEN", ...others.map((path) => ordinary.get(`/api/v1${path}`)));
  // a tenant's file permissions give nothing in the service's context
  const elsewhere = await t.actor({ role: "SystemAdmin", global: true });
  await insertLink(t, elsewhere.userId, stranger.tenantId, stranger.roleId);
  await refused(missing, elsewhere.get(path));
});
