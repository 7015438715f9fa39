// One user acts as another one: with a reason, for at most an hour, and never on what is the user's own.
import assert from "node:assert/strict";
import { decodeJwt } from "jose";
import { pluck } from "../../support/answers.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { mailsTo } from "../auth/mails.ts";
import { Uploading } from "../files/uploading.ts";
import { askTokens, type MadeClient, makeClient, postForm } from "../oauth/flow.ts";
import { USER } from "../scim/directory.ts";
import { IMPORTER, Importing } from "./imports/importing.ts";
import { newEmail } from "./users.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const SUPPORT = ["act-as:users", "read:users", "update:users", "read:roles"];
const ANA = ["act-as:users", "read:users", "update:users"];
const FORBIDDEN = "403 DELEGATION_FORBIDDEN";
const reason = "Ticket 4711";

/** A supporter and the user Ana who may read users, in a new tenant or in this one. */
async function office(of: { tenantId?: string } = {}) {
  const support = await t.actor({ permissions: SUPPORT, ...of });
  return { support, ana: await t.actor({ tenantId: support.tenantId ?? "", permissions: ANA }) };
}
const asUser = (by: Actor, { userId }: Pick<Actor, "userId">, more = {}) =>
  by.post(`/api/v1/users/${userId}/act-as`, { reason, ...more });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const send = (token: string, method: string, path: string, body?: unknown) =>
  t.nobody.send(method, path, body, bearer(token));
const end = (by: Actor, id: string) => accepted(by.post(`/api/v1/delegations/${id}/end`), 204);

Deno.test("a supporter acts as a user of the tenant: with the user's rights, reading only, and named beside the user", async () => {
  const { support, ana } = await office();
  const { delegation, accessToken } = await accepted(asUser(support, ana, { minutes: 30 }), 201);
  const { status, mayWrite, userId, actorId } = delegation;
  assert.deepEqual([status, mayWrite, userId, actorId], ["Open", false, ana.userId, support.userId]);
  assert.deepEqual(decodeJwt(accessToken).act, { sub: support.userId });
  const me = await accepted(send(accessToken, "GET", "/api/v1/auth/me"));
  assert.equal(me.user.id, ana.userId);
  assert.deepEqual(me.permissions.toSorted(), ANA);
  const rename = { firstName: "New", lastName: "Name" };
  await refused(FORBIDDEN, send(accessToken, "PUT", `/api/v1/users/${ana.userId}`, rename));
  await refused("403 MISSING_PERMISSION", send(accessToken, "GET", "/api/v1/roles"));
  const [mail] = await until(() => mailsTo(t, ana.email), ({ length }) => length > 0, { what: "the mail" });
  assert.ok(mail?.textBody.includes(reason));
  await end(support, delegation.id);
  await refused("401 TOKEN_REVOKED", send(accessToken, "GET", "/api/v1/auth/me"));
  const { items } = await accepted(ana.get("/api/v1/auth/me/delegations"));
  assert.deepEqual([items.length, items[0].status, items[0].reason], [1, "Ended", reason]);
});

Deno.test("who acts as a user does not see the user's exports", async () => {
  const support = await t.actor({ permissions: [...SUPPORT, "read:files"] });
  const ana = await t.actor({ tenantId: support.tenantId ?? "", permissions: ["read:files"] });
  const id = await new Uploading(t).fileIn("Pending", ana);
  await sql`update files set profile = 'export', created_by = ${ana.userId} where id = ${id}`;
  await accepted(ana.get(`/api/v1/files/${id}`), 200);
  const { accessToken } = await accepted(asUser(support, ana), 201);
  await refused("404 FILE_NOT_FOUND", send(accessToken, "GET", `/api/v1/files/${id}`));
});

Deno.test("a delegation that may write changes what the user may, never what is the user's own; the audit log names both", async () => {
  const { support, ana } = await office();
  const { accessToken } = await accepted(asUser(support, ana, { mayWrite: true }), 201);
  const other = await t.actor({ tenantId: support.tenantId ?? "", permissions: [] });
  await accepted(send(accessToken, "PUT", `/api/v1/users/${other.userId}`, { firstName: "New" }));
  const log = `/api/v1/audit-log?targetId=${other.userId}&action=user.update`;
  const { items } = await accepted(t.systemAdmin.get(log));
  assert.deepEqual([items[0].actorId, items[0].actedBy], [ana.userId, support.userId]);
  await refused(
    FORBIDDEN,
    send(accessToken, "PUT", "/api/v1/auth/me", { firstName: "New" }),
    send(accessToken, "POST", "/api/v1/auth/change-password", { currentPassword: "x", newPassword: "y" }),
    send(accessToken, "POST", "/api/v1/auth/factors/totp"),
    send(accessToken, "POST", "/api/v1/auth/switch-tenant", { tenantId: support.tenantId }),
    send(accessToken, "GET", "/api/v1/auth/sessions"),
    send(accessToken, "GET", `/api/v1/user-notifications/stream?userId=${ana.userId}`),
  );
  await sql`insert into user_tenants (user_id, tenant_id) values (${ana.userId}, ${await t.tenant()})`;
  const found = await accepted(send(accessToken, "GET", "/api/v1/auth/tenants"));
  const { tenants } = await accepted(send(accessToken, "GET", "/api/v1/auth/me"));
  for (const list of [found.items, tenants]) assert.deepEqual(pluck(list, "id"), [support.tenantId]);
});

Deno.test("nobody acts as themselves, or as a user who holds more; a tenant may forbid it", async () => {
  const { support, ana } = await office();
  const strong = await t.actor({ tenantId: support.tenantId ?? "", role: "Admin" });
  await refused("409 USER_SELF_CONFLICT", asUser(support, support));
  await refused("403 MISSING_PERMISSION", asUser(support, strong), asUser(ana, support));
  await accepted(t.systemAdmin.put(`/api/v1/tenants/${support.tenantId}`, { actAs: "forbidden" }));
  await refused(FORBIDDEN, asUser(support, ana));
});

Deno.test("where the tenant requires consent, the user decides first", async () => {
  const { support, ana } = await office();
  await accepted(t.systemAdmin.put(`/api/v1/tenants/${support.tenantId}`, { actAs: "consent" }));
  const ask = async () => {
    const { delegation, accessToken } = await accepted(asUser(support, ana), 201);
    assert.deepEqual([delegation.status, accessToken], ["Requested", null]);
    return delegation.id;
  };
  const open = (by: Actor, id: string) => by.post(`/api/v1/delegations/${id}/open`);
  const decide = (by: Actor, id: string, verb: string) =>
    by.post(`/api/v1/auth/me/delegations/${id}/${verb}`);
  const [refusedOne, allowed] = [await ask(), await ask()];
  await refused("409 DELEGATION_STATE_CONFLICT", open(support, allowed));
  await refused("404 DELEGATION_NOT_FOUND", decide(support, allowed, "allow"), open(ana, allowed));
  await accepted(decide(ana, refusedOne, "refuse"));
  await accepted(decide(ana, allowed, "allow"));
  await refused("409 DELEGATION_STATE_CONFLICT", open(support, refusedOne), decide(ana, allowed, "refuse"));
  const { accessToken } = await accepted(open(support, allowed));
  await accepted(send(accessToken, "GET", "/api/v1/auth/me"));
  await end(ana, allowed);
  await refused("401 TOKEN_REVOKED", send(accessToken, "GET", "/api/v1/auth/me"));
  await refused("409 DELEGATION_STATE_CONFLICT", open(support, allowed));
});

Deno.test("it ends with the actor's own session, with the rights of both, by its age, and when the tenant forbids it", async () => {
  const ends: ((o: { support: Actor; ana: Actor; id: string }) => Promise<unknown>)[] = [
    ({ support }) => accepted(support.post("/api/v1/auth/logout"), 204),
    ({ support }) =>
      accepted(t.systemAdmin.put(`/api/v1/admin/users/${support.userId}`, { isActive: false })),
    ({ ana }) => sql`update users set security_version = security_version + 1 where id = ${ana.userId}`,
    ({ id }) => sql`update sessions set expires_at = now() - interval '1 ms' where id = ${id}`,
    ({ support }) =>
      accepted(t.systemAdmin.put(`/api/v1/tenants/${support.tenantId}`, { actAs: "forbidden" })),
  ];
  const tenantId = await t.tenant();
  for (const over of ends) {
    const { support, ana } = await office({ tenantId });
    const { delegation: { id }, accessToken } = await accepted(asUser(support, ana), 201);
    await accepted(send(accessToken, "GET", "/api/v1/auth/me"));
    await over({ support, ana, id });
    const answer = await outcome(send(accessToken, "GET", "/api/v1/auth/me"));
    assert.match(answer, /^401 (TOKEN_REVOKED|SESSION_INVALIDATED)$/);
  }
});

Deno.test("a first-party client exchanges the token of a delegation for its own audience; nothing else can be exchanged", async () => {
  const { support, ana } = await office();
  const { delegation, accessToken } = await accepted(asUser(support, ana), 201);
  const client = await makeClient(t.systemAdmin, { scopes: ["openid", "steward.files", "orders"] });
  const grant_type = "urn:ietf:params:oauth:grant-type:token-exchange";
  const exchange = (by: MadeClient, subject_token: string, more = {}) =>
    askTokens(t, by, { grant_type, subject_token, ...more });
  const { access_token, expires_in, scope, refresh_token } = await accepted(exchange(client, accessToken));
  const { sub, aud, act, read_only, tenant_id } = decodeJwt(access_token);
  assert.deepEqual([sub, aud, act, read_only], [ana.userId, client.audience, { sub: support.userId }, true]);
  assert.deepEqual([tenant_id, scope, refresh_token], [support.tenantId, "orders", undefined]);
  assert.ok(expires_in <= 900);
  const { clientId: client_id, secret } = client;
  const form = { client_id, client_secret: secret ?? "", token: access_token };
  const inspect = () => accepted(postForm(t, "/oauth/introspect", form));
  const seen = await inspect();
  assert.deepEqual([seen.active, seen.act, seen.read_only], [true, { sub: support.userId }, true]);
  await refused("401 TOKEN_INVALID", send(access_token, "GET", "/api/v1/auth/me"));
  for (const kind of [{ firstParty: false }, { kind: "public" }]) {
    await refused("400 unauthorized_client", exchange(await makeClient(t.systemAdmin, kind), accessToken));
  }
  for (const more of ["openid", "steward.files"]) {
    await refused("400 invalid_scope", exchange(client, accessToken, { scope: `orders ${more}` }));
  }
  await refused(
    "400 invalid_request",
    exchange(client, ana.token ?? ""),
    exchange(client, access_token),
    exchange(client, "x"),
    exchange(client, accessToken, { subject_token_type: "urn:ietf:params:oauth:token-type:id_token" }),
  );
  await end(support, delegation.id);
  assert.deepEqual(await inspect(), { active: false });
  await refused("400 invalid_request", exchange(client, accessToken));
});

Deno.test("a system administrator works in a tenant for an hour without joining it, with a second factor if it requires one", async () => {
  const admin = await t.signedIn(t.systemAdmin);
  const tenantId = await t.tenant();
  const path = `/api/v1/admin/tenants/${tenantId}/work-in`;
  const { accessToken, delegation } = await accepted(admin.post(path, { reason, mayWrite: true }), 201);
  const role = await accepted(send(accessToken, "POST", "/api/v1/roles", { name: "Made by a visitor" }), 201);
  const { items } = await accepted(t.systemAdmin.get(`/api/v1/audit-log?targetId=${role.id}`));
  assert.deepEqual([items[0].tenantId, items[0].actedBy], [tenantId, admin.userId]);
  await accepted(admin.get("/api/v1/auth/me"));
  assert.equal((await sql`select from user_tenants where tenant_id = ${tenantId}`).length, 0);
  await sql`update tenants set require_second_factor = true where id = ${tenantId}`;
  const read = () => send(accessToken, "GET", "/api/v1/roles");
  await refused("403 SECOND_FACTOR_REQUIRED", read(), admin.post(path, { reason }));
  await end(admin, delegation.id);
  await refused("401 TOKEN_REVOKED", read());
  const unknown = path.replace(tenantId, crypto.randomUUID());
  await refused("404 TENANT_NOT_FOUND", admin.post(unknown, { reason }));
});

Deno.test("the audit rows of users that SCIM and an import create name both", async () => {
  const permissions = [...new Set([...ANA, ...IMPORTER, "provision:users"])];
  const support = await t.actor({ permissions });
  const ana = await t.actor({ tenantId: support.tenantId ?? "", permissions });
  const { accessToken } = await accepted(asUser(support, ana, { mayWrite: true }), 201);
  const Operations = ["a", "b"].map((bulkId) => {
    return { method: "POST", path: "/Users", bulkId, data: { schemas: [USER], userName: newEmail() } };
  });
  const schemas = ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"];
  await accepted(send(accessToken, "POST", "/scim/v2/Bulk", { schemas, Operations }));
  const fileId = await new Importing(t).file(ana, `email\n${newEmail()}\n`);
  const { importId } = await accepted(send(accessToken, "POST", "/api/v1/users/imports", { fileId }), 202);
  const rows = () =>
    sql<{ action: string; actedBy: string | null }[]>`select action, acted_by from audit_log
      where actor_id = ${ana.userId} and (action = 'user.create' or target_id = ${importId})`;
  const written = await until(rows, (rows) => rows.some(({ action }) => action === "userImport.complete"), {
    what: "the end of the import",
  });
  assert.equal(written.filter(({ action }) => action === "user.create").length, 3);
  assert.deepEqual(new Set(pluck([...written], "actedBy")), new Set([support.userId]));
});
