// What admin:system gives without a tenant, and what changes when a global token names one.
import assert from "node:assert/strict";
import { accepted, refused } from "../../support/outcomes.ts";
import { insertLink } from "../access/users.ts";
import { type Actor, setupShared } from "../../support/setup.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const OF_FILES = ["read:files", "upload:files", "retain:files", "purge:files"];
const EVERYTHING = ["read:users", "send:notifications", ...OF_FILES];
const [foreign, linked] = [
  await t.actor({ permissions: EVERYTHING }),
  await t.actor({ permissions: EVERYTHING }),
];
const admin = await t.actor({ role: "SystemAdmin", global: true });
await insertLink(t, admin.userId, linked.tenantId ?? "", linked.roleId ?? "");

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
  const [job, failed, recurring, notification, made, schedule] = await Promise.all([
    make("/jobs", echo),
    make("/jobs", fail),
    make("/recurring-jobs", { jobId: `j-${unique}`, jobTypeName: "steward.echo", ...yearly }),
    make("/notifications/send", { channel: "Email", recipients, subject: "A", textBody: "B" }),
    make("/notification-templates", template),
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
    "/reports/schedules": schedule.id,
    ...file ? { "/files": file.fileId } : {},
  };
}
const FILE = { profile: "document", fileName: "a.txt", contentType: "text/plain", sizeBytes: 1 };
const theirs = await makeAll(foreign, false);
const ours = await makeAll(linked, false);
const services = await makeAll(admin, true);
const OF_JOBS = ["/jobs", "/recurring-jobs", "/dead-letter-jobs"];
const PATHS = Object.keys(theirs);

const idsOf = async (actor: Pick<Actor, "get">, path: string, query = ""): Promise<string[]> => {
  const { items } = await accepted(actor.get(`/api/v1${path}?pageSize=100${query}`));
  return items.map((item: Record<string, string>) => path === "/recurring-jobs" ? item.jobId : item.id);
};
const readOf = (path: string, id: string | undefined) => `/api/v1${path}/${id}`;

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
  for (const path of PATHS) {
    const ids = await idsOf(admin, path, `&tenantId=${linked.tenantId}`);
    const [own, foreigns, ofService] = [ours, theirs, services].map((made) => ids.includes(made[path] ?? ""));
    assert.deepEqual([own, foreigns, ofService], [true, false, false], path);
    assert.deepEqual(await idsOf(admin.with({ "x-tenant-id": linked.tenantId ?? "" }), path), ids, path);
  }
});

Deno.test("without a tenant admin:system publishes events of any tenant, polls them, and asks access checks", async () => {
  const { tenantId = "", userId } = foreign;
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
  // a tenant's file permissions give nothing in the service's context
  const elsewhere = await t.actor({ role: "SystemAdmin", global: true });
  await insertLink(t, elsewhere.userId, linked.tenantId ?? "", linked.roleId ?? "");
  await refused(missing, elsewhere.get(path));
});
