import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { setupShared } from "../../support/setup.ts";
import { bearer, PASSWORD, person, signIn } from "./people.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

Deno.test("me answers the caller's profile, roles and permissions in the token's tenant", async () => {
  const user = await person(t, { role: "Visitor" });
  const { status, body, headers } = await bearer(t, await signIn(t, user.email)).get("/api/v1/auth/me");
  assert.equal(status, 200);
  assert.equal(body.user.email, user.email);
  assert.deepEqual(body.user.roles, ["Visitor"]);
  assert.deepEqual(body.permissions, [
    "read:files",
    "read:permissions",
    "read:roles",
    "read:tenants",
    "read:users",
  ]);
  assert.equal(headers.get("etag"), '"1"');
});

Deno.test("a deactivated link to the platform tenant gives nothing in the profile", async () => {
  const user = await person(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  await sql`update user_tenants set is_active = false where user_id = ${user.id}`;
  const { body } = await signIn(t, user.email);
  assert.equal(body.tenant, null);
  assert.deepEqual(body.permissions, []);
});

Deno.test("users can change their own names and number, and nothing else of themselves", async () => {
  const user = await person(t);
  const me = bearer(t, await signIn(t, user.email));
  const changed = await me.put("/api/v1/auth/me", {
    firstName: " Ada ",
    lastName: "Lovelace ✓",
    phoneNumber: "+351 1",
    email: "other@example.test",
    isActive: false,
    appIds: ["x"],
  });
  assert.equal(changed.status, 200);
  assert.equal(changed.body.user.firstName, "Ada");
  assert.equal(changed.body.user.lastName, "Lovelace ✓");
  assert.equal(changed.body.user.phoneNumber, "+351 1");
  assert.equal(changed.body.user.email, user.email);
  assert.deepEqual(changed.body.user.appIds, []);
  assert.equal(changed.headers.get("etag"), '"2"');
  const partly = await me.put("/api/v1/auth/me", { phoneNumber: null });
  assert.equal(partly.body.user.firstName, "Ada");
  assert.equal(partly.body.user.phoneNumber, null);
  const [audited] = await sql`select a.actor_id, a.action, v.before, v.after
    from audit_log a join audit_values v on v.audit_id = a.id where target_id = ${user.id} order by id limit 1`;
  assert.equal(audited?.actorId, user.id);
  assert.equal(audited?.action, "user.update");
  assert.equal(audited?.before.firstName, "Some");
  assert.equal(audited?.after.firstName, "Ada");
});

Deno.test("a profile change without effect keeps the version; an outdated If-Match is rejected", async () => {
  const user = await person(t);
  const me = bearer(t, await signIn(t, user.email));
  assert.equal((await me.put("/auth/me", { firstName: "Some" })).headers.get("etag"), '"1"');
  assert.equal((await me.put("/auth/me", { firstName: "New" }, { "if-match": '"1"' })).status, 200);
  const stale = await me.put("/auth/me", { firstName: "Newer" }, { "if-match": '"1"' });
  assert.equal(stale.status, 412);
  assert.equal(stale.body.code, "PRECONDITION_FAILED");
  for (const body of [{ firstName: 1 }, { lastName: "x".repeat(101) }, { phoneNumber: "1".repeat(41) }, []]) {
    assert.equal((await me.put("/auth/me", body)).body.code, "VALIDATION_ERROR", JSON.stringify(body));
  }
});

Deno.test("a profile change does not end the caller's tokens", async () => {
  const me = bearer(t, await signIn(t, (await person(t)).email));
  await me.put("/auth/me", { firstName: "Same" });
  assert.equal((await me.get("/auth/me")).status, 200);
});

Deno.test("changing the password ends the other sessions and keeps the caller's", async () => {
  const user = await person(t);
  const [mine, other] = [await signIn(t, user.email), await signIn(t, user.email)];
  const changed = await bearer(t, mine).post("/api/v1/auth/change-password", {
    currentPassword: PASSWORD,
    newPassword: "another good one",
  });
  assert.equal(changed.status, 204);
  assert.equal((await bearer(t, mine).get("/auth/me")).status, 200);
  assert.equal((await bearer(t, other).get("/auth/me")).body.code, "TOKEN_REVOKED");
  assert.equal((await signIn(t, user.email)).status, 401);
  assert.equal((await signIn(t, user.email, "another good one")).status, 200);
  const rows = await sql`select action, before, after from audit_log where target_id = ${user.id}`;
  assert.deepEqual(rows.map((row) => ({ ...row })), [{
    action: "user.change-password",
    before: null,
    after: null,
  }]);
});

Deno.test("a new password of invalid length, or equal to the email, is rejected", async () => {
  const user = await person(t);
  const me = bearer(t, await signIn(t, user.email));
  for (const newPassword of ["short-one", "x".repeat(129), user.email.toUpperCase()]) {
    const answer = await me.post("/auth/change-password", { currentPassword: PASSWORD, newPassword });
    assert.equal(answer.status, 400);
    assert.match(answer.body.errors[0], /^newPassword: /);
  }
});

Deno.test("wrong current passwords are reported by field and lock the session at the fifth, not the account", async () => {
  const user = await person(t);
  const me = bearer(t, await signIn(t, user.email));
  const attempt = (currentPassword: string) =>
    me.post("/auth/change-password", { currentPassword, newPassword: "another good one" });
  for (let n = 0; n < 5; n++) {
    const answer = await attempt("not mine at all");
    assert.equal(answer.status, 400);
    assert.match(answer.body.errors[0], /^currentPassword: /);
  }
  assert.equal((await attempt(PASSWORD)).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  const again = bearer(t, await signIn(t, user.email));
  const change = { currentPassword: PASSWORD, newPassword: "another good one" };
  assert.equal((await again.post("/auth/change-password", change)).status, 204);
});

Deno.test("the owner changes the password while others have locked the account, which ends the lock", async () => {
  const user = await person(t);
  const me = bearer(t, await signIn(t, user.email));
  for (let n = 0; n < 5; n++) await signIn(t, user.email, "wrong");
  assert.equal((await signIn(t, user.email)).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  const change = { currentPassword: PASSWORD, newPassword: "another good one" };
  assert.equal((await me.post("/auth/change-password", change)).status, 204);
  assert.equal((await signIn(t, user.email, "another good one")).status, 200);
});

Deno.test("of many simultaneous guesses of one session none succeeds once it is locked", async () => {
  const user = await person(t);
  const me = bearer(t, await signIn(t, user.email));
  const attempt = (currentPassword: string) =>
    me.post("/auth/change-password", { currentPassword, newPassword: "another good one" });
  const answers = await Promise.all([
    ...Array.from({ length: 12 }, (_, n) => attempt(`not mine at all ${n}`)),
    attempt(PASSWORD),
  ]);
  assert.equal(answers.at(-1)?.body?.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  assert.equal((await signIn(t, user.email)).status, 200, "the password is unchanged");
});

Deno.test("of simultaneous password changes one succeeds", async () => {
  const me = bearer(t, await signIn(t, (await person(t)).email));
  const answers = await Promise.all(
    Array.from(
      { length: 4 },
      (_, n) =>
        me.post("/auth/change-password", { currentPassword: PASSWORD, newPassword: `another one ${n}` }),
    ),
  );
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [204, 400, 400, 400]);
});

Deno.test("a user without a password gets an error that says how to set one", async () => {
  const user = await t.actor();
  const answer = await user.post("/auth/change-password", {
    currentPassword: "whatever it is",
    newPassword: "another good one",
  });
  assert.equal(answer.status, 400);
  assert.match(answer.body.errors[0], /forgot-password/);
});

Deno.test("users list their own open sessions, newest first, and can end any of them", async () => {
  const user = await person(t);
  const first = await t.nobody.with({ "user-agent": "First" })
    .post("/auth/login", { email: user.email, password: PASSWORD });
  const second = bearer(t, await signIn(t, user.email));
  await signIn(t, (await person(t)).email);
  const { status, body } = await second.get("/api/v1/auth/sessions");
  assert.equal(status, 200);
  assert.deepEqual(
    body.map((s: { isCurrent: boolean; userAgent: string }) => s.isCurrent || s.userAgent),
    [true, "First"],
  );
  assert.deepEqual(body[0].amr, ["pwd"]);
  assert.equal(body[0].authenticatedAt, body[0].createdAt);
  assert.equal((await second.delete(`/api/v1/auth/sessions/${body[1].id}`)).status, 204);
  assert.equal((await bearer(t, first).get("/auth/me")).body.code, "TOKEN_REVOKED");
  assert.equal((await second.get("/auth/sessions")).body.length, 1);
  assert.equal((await second.delete(`/auth/sessions/${body[0].id}`)).status, 204);
  assert.equal((await second.get("/auth/me")).body.code, "TOKEN_REVOKED");
});

Deno.test("another user's, ended and unknown sessions are not found", async () => {
  const [mine, theirs] = [await t.actor(), await t.actor()];
  const [session] = (await theirs.get("/auth/sessions")).body;
  for (const id of [session.id, newId()]) {
    const answer = await mine.delete(`/auth/sessions/${id}`);
    assert.equal(answer.status, 404);
    assert.equal(answer.body.code, "SESSION_NOT_FOUND");
  }
  assert.equal((await theirs.get("/auth/me")).status, 200);
  assert.equal((await mine.delete("/auth/sessions/nothing")).body.code, "VALIDATION_ERROR");
});

Deno.test("of many tenants, the profile has as many as asked for, and the others are found by name and id", async () => {
  const home = await t.tenant({ name: "Zebra" });
  const user = await person(t, { links: [home, t.platformTenantId] });
  await sql`with made as (
      insert into tenants (id, name, type)
      select gen_random_uuid(), 'Größe ' || n, 'Standard' from generate_series(1, 120) n returning id
    )
    insert into user_tenants (user_id, tenant_id) select ${user.id}, id from made`;
  await sql`update user_tenants set is_default = tenant_id = ${home} where user_id = ${user.id}`;
  const stranger = await t.tenant({ name: "Größe of others" });
  const me = bearer(t, await signIn(t, user.email));
  const first = (await me.get("/api/v1/auth/me?maxTenants=2")).body.tenants;
  assert.deepEqual(first.map(({ id }: { id: string }) => id), [home, t.platformTenantId]);
  assert.equal(first[0].isDefault, true);
  assert.equal((await me.get("/api/v1/auth/me")).body.tenants.length, 122);
  assert.deepEqual((await me.get("/api/v1/auth/me?maxTenants=0")).body.tenants, []);
  assert.equal((await me.get("/api/v1/auth/me?maxTenants=-1")).status, 400);
  const { body: found } = await me.get("/api/v1/auth/tenants?search=grosse%2011&pageSize=5");
  assert.equal(found.totalCount, 11);
  assert.equal(found.items.length, 5);
  const { body: some } = await me.get(`/api/v1/auth/tenants?ids=${home},${stranger}`);
  assert.deepEqual(some.items.map(({ id }: { id: string }) => id), [home]);
  await sql`update user_tenants set is_active = false where user_id = ${user.id} and tenant_id <> ${home}`;
  assert.equal((await me.get("/api/v1/auth/tenants")).body.totalCount, 1);
});
