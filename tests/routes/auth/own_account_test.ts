import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import {
  failSignIns,
  PASSWORD,
  person,
  racing,
  setupSignIns,
  signedIn,
  signIn,
  withToken,
} from "./people.ts";

const t = await setupSignIns();
const { sql } = t.steward.platform;
const ME = "/api/v1/auth/me";
const NEW = "another good one";

type Me = { me: { post: typeof t.nobody.post } };
const changePassword = ({ me }: Me) =>
  me.post("/api/v1/auth/change-password", { currentPassword: PASSWORD, newPassword: NEW });
/** Another session of a user. */
const signedInAgain = async ({ email }: { email: string }) => ({
  me: withToken(t, (await accepted(signIn(t, email))).accessToken),
});

Deno.test("me answers the roles and permissions in the token's tenant; a deactivated link gives none", async () => {
  const { me } = await signedIn(t, { role: "Visitor" });
  const { user: { roles }, permissions: ofVisitor } = await accepted(me.get(ME));
  const resources = ["files", "permissions", "roles", "tenants", "users"];
  assert.deepEqual([roles, ofVisitor], [["Visitor"], resources.map((resource) => `read:${resource}`)]);
  const user = await person(t, { links: [t.platformTenantId], role: "SystemAdmin" });
  await sql`update user_tenants set is_active = false where user_id = ${user.id}`;
  const { tenant, permissions } = await accepted(signIn(t, user.email));
  assert.deepEqual([tenant, permissions], [null, []]);
});

Deno.test("users can change their own names and number, and nothing else of themselves", async () => {
  const { email, me } = await signedIn(t);
  const names = { firstName: "Ada", lastName: "Lovelace ✓", phoneNumber: "+3511" };
  const more = { email: "other@example.test", isActive: false, appIds: ["x"] };
  const { user } = await accepted(me.put(ME, { ...names, firstName: " Ada ", ...more }));
  has(user, { ...names, email, appIds: [] });
  await accepted(me.get(ME)); // still active
});

Deno.test("changing the password ends the other sessions and keeps the caller's", async () => {
  const user = await signedIn(t);
  const other = await signedInAgain(user);
  await accepted(changePassword(user), 204);
  await accepted(user.me.get(ME));
  await refused("401 TOKEN_REVOKED", other.me.get(ME));
  await refused("401 CREDENTIALS_INVALID_UNAUTHORIZED", signIn(t, user.email));
  await accepted(signIn(t, user.email, NEW));
  const audited = await sql`select before, after from audit_log where target_id = ${user.id}`;
  assert.deepEqual([...audited], [{ before: null, after: null }]);
});

Deno.test("wrong current passwords are reported by field and lock the session at the fifth, not the account", async () => {
  const ways: [route: string, member: string, more: object, without: RegExp][] = [
    ["change-password", "currentPassword", { newPassword: NEW }, /forgot-password/],
    ["change-email", "password", { newEmail: "new@own.test" }, /^password: the account has no password/],
  ];
  for (const [route, member, more, without] of ways) {
    const user = await signedIn(t);
    const send = (password: string, { me }: Me = user) =>
      me.post(`/api/v1/auth/${route}`, { ...more, [member]: password });
    const guess = () => send("not mine at all");
    for (let n = 0; n < 4; n++) {
      const answer = await guess();
      await refused("400 VALIDATION_ERROR", answer);
      assert.ok(answer.body.errors[0].startsWith(`${member}: `));
    }
    const raced = await racing(t, user.id, guess, guess, () => send(PASSWORD));
    const locked = "401 ACCOUNT_LOCKED_UNAUTHORIZED";
    assert.deepEqual(raced, ["400 VALIDATION_ERROR", locked, locked], "also of simultaneous guesses");
    await refused(locked, send(PASSWORD));
    await accepted(send(PASSWORD, await signedInAgain(user)));
    assert.match((await send(PASSWORD, { me: await t.actor() })).body.errors[0], without);
  }
});

Deno.test("the owner changes the password while others have locked the account, which ends the lock", async () => {
  const user = await signedIn(t);
  await failSignIns(t, user.email, 5);
  await refused("401 ACCOUNT_LOCKED_UNAUTHORIZED", signIn(t, user.email));
  await accepted(changePassword(user), 204);
  await accepted(signIn(t, user.email, NEW));
});

Deno.test("the profile has as many tenants as asked for; the list has those of active links, by name and id", async () => {
  const [home, other] = [await t.tenant(), await t.tenant({ name: "Größe" })];
  const { id, me } = await signedIn(t, { links: [home, other] });
  for (const [query, count] of [["", 2], ["?maxTenants=1", 1], ["?maxTenants=0", 0]] as const) {
    const { tenants } = await accepted(me.get(ME + query));
    assert.deepEqual(pluck(tenants, "id"), [home, other].slice(0, count));
  }
  const found = async (query: string) =>
    pluck((await accepted(me.get(`/api/v1/auth/tenants?${query}`))).items, "id");
  assert.deepEqual(await found("search=grosse"), [other]);
  assert.deepEqual(await found(`ids=${home},${await t.tenant()}`), [home]);
  await sql`update user_tenants set is_active = false where user_id = ${id} and tenant_id = ${other}`;
  assert.deepEqual(await found(""), [home]);
});

Deno.test("users list their own open sessions, newest first, and can end any of them", async () => {
  const user = await person(t);
  const login = { email: user.email, password: PASSWORD };
  const first = await accepted(t.nobody.post("/auth/login", login, { "user-agent": "First" }));
  const { me: second } = await signedInAgain(user);
  const theirs = await t.actor();
  const path = "/api/v1/auth/sessions";
  const sessions = await accepted(second.get(path));
  assert.deepEqual(pluck(sessions, "isCurrent"), [true, false]);
  assert.equal(sessions[1].userAgent, "First");
  const [current, other] = sessions;
  assert.deepEqual([current.amr, current.authenticatedAt], [["pwd"], current.createdAt]);
  await accepted(second.delete(`${path}/${other.id}`), 204);
  await refused("401 TOKEN_REVOKED", withToken(t, first.accessToken).get(ME));
  assert.equal((await accepted(second.get(path))).length, 1);
  const [foreign] = await accepted(theirs.get(path));
  await refused("404 SESSION_NOT_FOUND", second.delete(`${path}/${foreign.id}`));
  await accepted(theirs.get(ME));
  await accepted(second.delete(`${path}/${current.id}`), 204);
  await refused("401 TOKEN_REVOKED", second.get(ME));
});
