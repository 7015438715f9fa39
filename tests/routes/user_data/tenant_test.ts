import assert from "node:assert/strict";
import { pruneAudiencesJob } from "../../../domain/oauth/clients/client.ts";
import { finish } from "../../support/maintenance.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { Uploading } from "../files/uploading.ts";
import { bearer, racingFor, signIn as signInAs } from "../auth/people.ts";
import { boundSession, providerOf } from "../auth/tenant_sessions.ts";
import { enqueueJob } from "../jobs/job_calls.ts";
import { authorizeUrl, codeOf, makeClient, redeem, signedInBrowser } from "../oauth/flow.ts";
import {
  CLERK,
  columnsWith,
  createUser,
  done,
  ended,
  filesOf,
  sendMail,
  signIn,
  tablesWith,
} from "./support.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const admin = t.systemAdmin;

/** A tenant with a clerk and a user. */
async function office() {
  const mark = crypto.randomUUID().slice(0, 8);
  const name = `Narwhal${mark}`;
  const tenantId = await t.tenant({ name });
  const clerk = await t.actor({ tenantId, permissions: CLERK });
  const member = async (n: number) => {
    const email = `member${n}.${mark}@personal.example`;
    return { id: await createUser(clerk, { email, firstName: `Otterly${mark}` }), email };
  };
  return { name, mark, tenantId, clerk, member, users: [await member(1)] };
}

/** A tenant with two users, and with messages that occur nowhere else. */
async function company() {
  const { mark, tenantId, clerk, member, users: [first], ...rest } = await office();
  const users = [first!, await member(2)];
  const texts = { subject: `Subject ${mark}`, textBody: `Message ${mark}` };
  await sendMail(clerk, users.map(({ email }) => email), texts);
  const { me } = await boundSession(t, clerk.userId, await providerOf(t, tenantId));
  const devices = `/api/v1/user-notifications/devices?userId=${clerk.userId}`;
  await accepted(me.post(devices, { token: crypto.randomUUID() }));
  await t.settled(await enqueueJob(clerk, "steward.echo", [mark]));
  return { ...rest, mark, tenantId, clerk, users };
}

const erase = (by: Actor, tenantId: string, body: unknown) =>
  by.post(`/api/v1/admin/tenants/${tenantId}/erase`, body);
const deactivate = (tenantId: string) => admin.put(`/api/v1/tenants/${tenantId}`, { isActive: false });

Deno.test("the export of a tenant has its rows, and none of another", async () => {
  const [mine, other] = [await company(), await office()];
  const permissions = ["manage:all-tenants", "read:files"];
  const staff = { tenantId: t.platformTenantId, permissions };
  const [reader, colleague] = [await t.actor(staff), await t.actor(staff)];
  const { fileId, kind, tenantId } = await done(reader, `/api/v1/admin/tenants/${mine.tenantId}/export`);
  assert.deepEqual([kind, tenantId], ["TenantExport", mine.tenantId]);
  await refused("404 FILE_NOT_FOUND", colleague.get(`/api/v1/files/${fileId}`)); // another asked for it
  const files = await filesOf(reader, fileId);
  const text = Object.values(files).join("\n");
  assert.ok(files["access/users.jsonl"]?.includes(mine.users[0]?.email ?? "?"));
  assert.ok(files["notifications/messages.jsonl"]?.includes(`Message ${mine.mark}`));
  assert.ok(files["jobs/jobs.jsonl"]?.includes("steward.echo"));
  assert.ok(files["audit/audit-log.jsonl"]?.includes("user.create"));
  assert.ok(!text.includes(other.mark) && !text.includes(other.tenantId));
  const [user] = await sql`select password_hash from users where id = ${mine.users[0]?.id ?? null}`;
  assert.ok(!text.includes(user?.passwordHash));
});

Deno.test("a tenant is erased with its users, unless they belong to another tenant too", async () => {
  const { name, mark, tenantId, clerk, users: [only, shared] } = await company();
  const other = await office();
  const link = { tenantId: other.tenantId, roleIds: [other.clerk.roleId] };
  await accepted(admin.post(`/api/v1/admin/users/${shared?.id}/tenants`, link));
  const body = { reason: "contract ended", name };
  await refused("409 TENANT_ACTIVE_CONFLICT", erase(admin, tenantId, body));
  await accepted(deactivate(tenantId));
  await refused("400 VALIDATION_ERROR", erase(admin, tenantId, { ...body, name: name.toLowerCase() }));
  assert.equal((await clerk.get("/api/v1/users")).status, 401);

  const answers = await Promise.all([erase(admin, tenantId, body), erase(admin, tenantId, body)]);
  assert.deepEqual(answers.map(({ status }) => status), [202, 202], JSON.stringify(answers[0]?.body));
  assert.equal(answers[0]?.body.id, answers[1]?.body.id);
  await ended(admin, answers[0]?.body.statusUrl);

  const gone = [only?.email ?? "?", clerk.email, `Message ${mark}`, `Subject ${mark}`];
  assert.deepEqual(await columnsWith(sql, gone), []);
  const [kept] = await sql`select email, deleted_at, security_version from users where id = ${
    shared?.id ?? null
  }`;
  assert.deepEqual([kept?.email, kept?.deletedAt], [shared?.email, null]);
  assert.equal((await admin.get(`/api/v1/tenants/${tenantId}`)).status, 404);
  // changes of counts have the tenant's id until they are added to the counts
  const left = await until(async () => {
    await t.steward.sweep();
    return await rowsOf(tenantId);
  }, (tables) => !tables.some((table) => table.endsWith("_count_changes")));
  assert.deepEqual(left, ["audit_log", "data_requests", "files"].filter((table) => left.includes(table)));
  const log = await admin.get(`/api/v1/audit-log?targetId=${tenantId}&action=tenant.erase`);
  assert.equal(log.body.totalCount, 1);
  assert.equal(log.body.items[0].after.reason, "contract ended");
  assert.equal((await erase(admin, tenantId, body)).body.id, answers[0]?.body.id, "asked again");
  assert.equal((await signIn(t, only?.email ?? "")).status, 401);
});

Deno.test("a user who joins another tenant while the erasure of the first one begins is not erased", async () => {
  const { name, tenantId, users: [only, joining] } = await company();
  const other = await office();
  await accepted(deactivate(tenantId));
  const id = joining?.id ?? null;
  const link = { tenantId: other.tenantId, roleIds: [other.clerk.roleId] };
  const raced = await racingFor(
    t,
    (tx) => tx`select from users where id = ${id} for update`,
    () => admin.post(`/api/v1/admin/users/${id}/tenants`, link),
    () => erase(admin, tenantId, { reason: "contract ended", name }),
  );
  assert.deepEqual(raced, ["201", "202"]);
  const path = `/api/v1/admin/tenants/${tenantId}/data-requests`;
  const [{ id: requestId }] = (await admin.get(path)).body;
  await ended(admin, `${path}/${requestId}`);
  const kept = await sql<{ email: string }[]>`
    select email from users where id in (${id}, ${only?.id ?? null}) and erased_at is null`;
  assert.deepEqual(kept.map(({ email }) => email), [joining?.email]);
});

/** The tables that still have rows of a tenant, without the differences of totals, which a job adds up. */
const rowsOf = async (tenantId: string) =>
  (await tablesWith(sql, ["tenant_id", "tenant_key", "only_tenant_id"], tenantId))
    .filter((table) => !table.endsWith("_deltas"));

Deno.test("files of an erased tenant are purged; one under legal hold refuses the erasure", async () => {
  const { name, tenantId, clerk } = await office();
  const { id } = await new Uploading(t).uploadAndScan(clerk);
  const product = await new Uploading(t).uploadAndScan(
    await t.actor({ permissions: ["upload:files", "read:files"] }),
  );
  await sql`update files set tenant_id = null where id = ${product.id}`;
  const owner = { scope: "orders", ownerId: "1" };
  await accepted(clerk.post(`/api/v1/files/${product.id}/references`, owner), 201);
  const { objects } = t.steward.platform;
  const [theirs, others] = [`deliveries/${tenantId}/monthly/users.csv`, `deliveries/${tenantId}0/users.csv`];
  for (const key of [theirs, others]) {
    await objects.write(key, new Blob(["email"]).stream(), { contentType: "text/csv" });
  }
  await accepted(clerk.put(`/api/v1/files/${id}/retention`, { legalHold: true }));
  await deactivate(tenantId);
  const held = await erase(admin, tenantId, { reason: "r", name });
  await refused("409 FILE_LEGAL_HOLD_CONFLICT", held);
  assert.match(held.body.detail, /1 file/);
  assert.equal((await admin.get(`/api/v1/tenants/${tenantId}`)).status, 200, "nothing was changed");
  await sql`update files set legal_hold = false where id = ${id}`;
  await done(admin, `/api/v1/admin/tenants/${tenantId}/erase`, { reason: "r", name });
  const [file] =
    await sql`select status, purge_reason, file_name, reference_count from files where id = ${id}`;
  const purged = { status: "Purged", purgeReason: "job:tenant-erased" };
  assert.deepEqual({ ...file }, { ...purged, fileName: "erased", referenceCount: 0 });
  const [released] = await sql`select reference_count from files where id = ${product.id}`;
  assert.equal(released?.referenceCount, 0, "nothing of the tenant holds a product file");
  assert.deepEqual([await objects.head(theirs) !== null, await objects.head(others) !== null], [false, true]);
});

Deno.test("the platform tenant and a group with children cannot be erased", async () => {
  await refused("409 TENANT_PLATFORM_CONFLICT", erase(admin, t.platformTenantId, { reason: "r", name: "n" }));
  const group = await t.tenant({ name: `Group${crypto.randomUUID()}`, type: "Group" });
  await t.tenant({ parentTenantId: group });
  const { body } = await admin.get(`/api/v1/tenants/${group}`);
  await deactivate(group);
  await refused("409 TENANT_HAS_CHILDREN_CONFLICT", erase(admin, group, { reason: "r", name: body.name }));
});

Deno.test("a tenant is erased with its OAuth clients, and no session of its users in other tenants ends", async () => {
  const name = `Walrus${crypto.randomUUID().slice(0, 8)}`;
  const [erased, other] = [await t.tenant({ name }), await t.tenant()];
  const permissions = ["manage:oauth-clients", "create:roles", "update:roles", "read:users"];
  const maker = await t.actor({ tenantId: erased, permissions });
  const client = await makeClient(maker, { firstParty: false });
  const { browser, who } = await signedInBrowser(t, { links: [other, erased] });
  const page = await browser.show(authorizeUrl(t, client, { scope: "openid offline_access" }));
  const to = await browser.submit(page, "allowed");
  assert.ok("left" in to);
  assert.equal((await redeem(t, client, codeOf(to.left))).status, 200);
  const { body: role } = await maker.post("/api/v1/roles", { name: "Sealers", permissionIds: [] });
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id) values (${who.id}, ${erased}, ${role.id})`;
  const [permission] = await sql`select id from permissions where code = 'read:users' and tenant_id is null`;
  await accepted(maker.put(`/api/v1/roles/${role.id}`, { permissionIds: [permission?.id] }));
  await accepted(deactivate(erased));
  const session = await signInAs(t, who.email);
  await done(admin, `/api/v1/admin/tenants/${erased}/erase`, { reason: "left", name });
  t.steward.platform.rights.invalidate([who.id]);
  assert.equal((await sql`select from oauth_clients where id = ${client.id}`).length, 0);
  assert.equal((await sql`select from user_tenants where tenant_id = ${erased}`).length, 0);
  assert.equal((await sql`select from users where id = ${who.id} and erased_at is null`).length, 1);
  await accepted(bearer(t, session).get("/api/v1/auth/me"));
  const { refreshToken } = session.body;
  await accepted(t.nobody.post("/api/v1/auth/refresh", { refreshToken }));
  const told =
    await sql`select from events where type = 'user.access-changed' and data ->> 'userId' = ${who.id}`;
  assert.equal(told.length, 0, "those of the erased tenant are deleted, and the other tells of no change");

  const taken = () => makeClient(admin, { audience: client.audience });
  await assert.rejects(taken, /OAUTH_AUDIENCE_CONFLICT/, "its tokens may still be valid");
  await sql`update oauth_audiences set left_at = now() - interval '25 hours' where audience = ${client.audience}`;
  assert.deepEqual(await finish(pruneAudiencesJob, t.steward.platform), { audiences: 1 });
  await taken();
});
