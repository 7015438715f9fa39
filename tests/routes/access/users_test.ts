import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { atOnce, auditOf, codes, column, invalid, isSignedIn, refused, statuses } from "./answers.ts";
import {
  ADMIN,
  BCRYPT,
  catalogRole,
  createUser,
  insertLink,
  insertRole,
  newEmail,
  newUser,
  PASSWORD,
} from "./users.ts";
import { accepted } from "../../support/outcomes.ts";
import { hash } from "@node-rs/argon2";
import { parseForeignHash } from "../../../infra/foreign_hashes.ts";
import { isAcceptedHash, needsRehash } from "../../../infra/passwords.ts";
import { person, signIn } from "../auth/people.ts";
import { tokenOf } from "../auth/mails.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const admin = await t.actor({ permissions: ADMIN });
const tenantId = admin.tenantId ?? "";
const path = (id: string) => `/api/v1/users/${id}`;
const versionOf = async (userId: string) =>
  (await sql<{ v: number }[]>`select security_version as v from users where id = ${userId}`)[0]?.v;
/** Links a user to a new tenant. */
async function linkElsewhere(userId: string): Promise<string> {
  const id = await t.tenant();
  await insertLink(t, userId, id);
  return id;
}

Deno.test("a phone number that an older version stored stays until it is changed, then it must be international", async () => {
  const id = await createUser(admin);
  await sql`update users set phone_number = '912 345 678' where id = ${id}`;
  const put = (phoneNumber: string) => admin.put(path(id), { phoneNumber, firstName: " Bea " });
  has((await put("912 345 678")).body, { phoneNumber: "912 345 678", firstName: "Bea" });
  invalid(await put("912 345 679"), /^phoneNumber: expected an international phone number such as/);
});

Deno.test("activating and deactivating end only that user's tokens", async () => {
  const subject = await t.actor({ tenantId, permissions: ["read:users"] });
  const change = (action: string) => accepted(admin.post(`${path(subject.userId)}/${action}`), 200);
  assert.equal((await subject.get("/api/v1/users")).status, 200);
  await change("deactivate");
  refused(await subject.get("/api/v1/users"), 401, "SESSION_INVALIDATED");
  await change("deactivate");
  await change("activate");
  assert.equal((await admin.get(path(subject.userId))).body.isActive, true);
  refused(await subject.get("/api/v1/users"), 401, "SESSION_INVALIDATED", "the old token stays dead");
  assert.equal((await admin.get("/api/v1/users")).status, 200);
});

Deno.test("callers can neither delete nor deactivate themselves", async () => {
  const self = await t.actor({ tenantId, permissions: [...ADMIN, "manage:all-users"] });
  const own = path(self.userId);
  const attempts = [
    await self.delete(own),
    await self.post(`${own}/deactivate`),
    await self.put(own, { isActive: false }),
    await self.delete(`/api/v1/admin/users/${self.userId}`),
    await self.put(`/api/v1/admin/users/${self.userId}`, { isActive: false }),
  ];
  refused(attempts, 409, "USER_SELF_CONFLICT");
  assert.equal((await self.put(own, { firstName: "Me" })).status, 200);
});

Deno.test("DELETE unlinks the user from the tenant, and deletes the user with the last link", async () => {
  const id = await createUser(admin);
  const elsewhere = await linkElsewhere(id);
  const before = await versionOf(id);
  await accepted(admin.delete(path(id)), 200);
  refused(await admin.get(path(id)), 404, "USER_NOT_FOUND");
  const left = await t.systemAdmin.get(`/api/v1/admin/users/${id}`);
  assert.deepEqual(pluck(left.body.tenants, "tenantId"), [elsewhere]);
  assert.notEqual(await versionOf(id), before);
  assert.equal((await auditOf(t, id)).at(-1), "user.unlink");

  const theirs = await t.actor({ tenantId: elsewhere, permissions: ADMIN });
  assert.equal((await theirs.delete(path(id))).status, 200);
  refused(await t.systemAdmin.get(`/api/v1/admin/users/${id}`), 404, "USER_NOT_FOUND");
  refused(await theirs.delete(path(id)), 404, "USER_NOT_FOUND");
  assert.ok(!column(await theirs.get("/api/v1/users"), "id").includes(id));
  assert.ok(column(await theirs.get("/api/v1/users?includeDeleted=true"), "id").includes(id));
  const [tenant] = await sql`select user_count from tenants where id = ${elsewhere}`;
  assert.equal(tenant?.userCount, 1);
});

const rolesPath = (userId: string) => `${path(userId)}/roles`;

Deno.test("a user's roles are read and replaced in the tenant alone, and a deactivated link gives no permissions", async () => {
  const admin = await t.actor({ role: "Admin" });
  const tenantId = admin.tenantId ?? "";
  const user = await t.actor({ permissions: ["read:roles", "read:files"], tenantId });
  const elsewhere = await t.actor();
  await insertLink(t, user.userId, elsewhere.tenantId, elsewhere.roleId);
  const [role, ...more] = (await admin.get(rolesPath(user.userId))).body;
  assert.deepEqual([role.tenantId, codes(role), more], [tenantId, ["read:files", "read:roles"], []]);
  const permissions = async () => (await admin.get(`${path(user.userId)}/permissions`)).body;
  assert.deepEqual(await permissions(), codes(role));
  await sql`update user_tenants set is_active = false where user_id = ${user.userId} and tenant_id = ${tenantId}`;
  assert.deepEqual(await permissions(), []);
  const wanted = await catalogRole(t, "Admin", tenantId);
  const { body } = await admin.put(rolesPath(user.userId), { roleIds: [wanted, wanted] });
  assert.deepEqual(pluck(body, "name"), ["Admin"]);
  assert.equal((await sql`select from user_tenant_roles where user_id = ${user.userId}`).length, 2);
  assert.deepEqual((await admin.put(rolesPath(user.userId), { roleIds: [] })).body, []);
});

Deno.test("a rejected assignment names the missing permissions and who can give them", async () => {
  const owner = await t.actor({ role: "Admin" });
  const tenantId = owner.tenantId ?? "";
  const user = await t.actor({ permissions: [], tenantId });
  const code = "approve:orders";
  const [{ id: permissionId } = { id: "" }] = await sql<{ id: string }[]>`
    insert into permissions (id, tenant_id, code, category)
    values (gen_random_uuid(), ${tenantId}, ${code}, 'Orders') returning id`;
  const made = await owner.post("/api/v1/roles", { name: "Approver", permissionIds: [permissionId] });
  assert.equal(made.status, 201, "a caller with update:roles may add any tenant-reach permission to a role");
  const give = (by: Actor) => by.put(rolesPath(user.userId), { roleIds: [made.body.id] });
  const alone = await give(owner);
  refused(alone, 403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  assert.deepEqual(alone.body.errors, [`${code}: the caller does not hold it`]);
  assert.match(alone.body.detail, /permissions approve:orders, .* roles: any holder of admin:system\. /);
  const able = await t.actor({ permissions: ["update:users"], tenantId });
  const unable = await t.actor({ permissions: ["read:users"], tenantId });
  for (const { userId } of [able, unable]) await insertLink(t, userId, tenantId, made.body.id);
  const named = `Users who may assign the roles: ${able.email}, any holder of admin:system.`;
  assert.ok((await give(owner)).body.detail.includes(named));
  const blind = await t.actor({ permissions: ["update:users"], tenantId });
  assert.ok(!(await give(blind)).body.detail.includes("@"), "emails of users need read:users");
  // The fix that the error suggests: add the missing permission to a role of the caller, then sign in again.
  const ownRole = await catalogRole(t, "Admin", tenantId);
  assert.equal((await owner.post(`/api/v1/roles/${ownRole}/permissions/${permissionId}`)).status, 200);
  const again = await t.actor({ role: "Admin", tenantId });
  refused(await again.put(rolesPath(user.userId), { roleIds: [admin.roleId] }), 404, "ROLE_NOT_FOUND");
  assert.equal((await give(again)).status, 200);
});

const newUuid = () => crypto.randomUUID();
const send = (o: Record<string, unknown> = {}, by: Actor = admin) => by.post("/api/v1/users", newUser(o));
const login = (email: string, password = PASSWORD) => t.nobody.post("/auth/login", { email, password });
const storedHash = async (id: string): Promise<string> =>
  (await sql`select password_hash from users where id = ${id}`)[0]?.passwordHash;

Deno.test("a user is created in the caller's tenant, and found by id and by email in any case", async () => {
  const email = `Maria.${newUuid()}@Example.test`;
  const given = { email, phoneNumber: "+351 910 000 000", appIds: ["crm", "crm"], password: PASSWORD };
  const created = await accepted(send(given), 201);
  has(created, { email, phoneNumber: "+351910000000", appIds: ["crm"], isLockedOut: false });
  const byEmail = `/api/v1/users/by-email/${encodeURIComponent(email.toUpperCase())}`;
  for (const at of [path(created.id), byEmail]) assert.deepEqual((await admin.get(at)).body, created);
  const links = (await admin.get(`${path(created.id)}/tenants`)).body;
  assert.deepEqual(pluck(links, "tenantId", "isDefault"), [[tenantId, true]]);
  assert.equal((await login(email.toLowerCase())).body.tenant.id, tenantId);
});

Deno.test("passwords and hashes appear in no answer, audit row or log line", async () => {
  const id = await createUser(admin, { password: PASSWORD });
  const hash = await storedHash(id);
  assert.match(hash, /^\$argon2id\$/);
  const [audit] = await sql`select after::text as after from audit_log where target_id = ${id}`;
  const answer = JSON.stringify((await admin.get(`/api/v1/users/${id}`)).body);
  for (const text of [answer, audit?.after, t.logs.join()]) {
    assert.ok(!text.includes(PASSWORD) && !text.includes(hash));
  }
});

Deno.test("an email is unique whatever its letter case, across tenants, and stays taken after its user is deleted", async () => {
  const email = newEmail();
  const id = await createUser(admin, { email });
  const outsider = await t.actor({ permissions: ADMIN });
  refused(await send({ email: email.toUpperCase() }, outsider), 409, "USER_ALREADY_EXISTS");
  assert.equal((await admin.delete(`/api/v1/users/${id}`)).status, 200);
  refused(await send({ email }), 409, "USER_ALREADY_EXISTS");
  const racing = newEmail();
  assert.deepEqual(statuses(await atOnce(3, () => send({ email: racing }))), [201, 409, 409]);
});

Deno.test("an email is kept as it is given, and its domain is the same in Unicode and in ASCII", async () => {
  const name = newUuid();
  const [unicode, ascii] = [`r&d/${name}@müller.de`, `R&D/${name}@xn--mller-kva.de`];
  assert.equal((await send({ email: unicode })).body.email, unicode);
  assert.equal((await admin.get(`/api/v1/users/by-email/${encodeURIComponent(ascii)}`)).body.email, unicode);
  for (const search of [ascii, `${name}@MÜLLER.de`]) {
    const { items } = (await admin.get(`/api/v1/users?search=${encodeURIComponent(search)}`)).body;
    assert.deepEqual(pluck(items, "email"), [unicode], search);
  }
  refused(await send({ email: ascii }), 409, "USER_ALREADY_EXISTS");
});

Deno.test("isPasswordEncrypted accepts only valid hashes, and stores them unchanged", async () => {
  const argon2 =
    "$argon2id$v=19$m=65536,t=3,p=4$c29tZXNhbHRzb21lc2FsdA$RdescudvJCsgt3ub+b8dWRWJTmaaJObGWrGyNh5vXmw";
  for (const password of [BCRYPT, argon2]) {
    const id = await createUser(admin, { password, isPasswordEncrypted: true });
    assert.equal(await storedHash(id), password);
  }
  const wrong = [PASSWORD, BCRYPT.slice(0, -1), argon2.replace("m=65536", "m=4194304")];
  for (const password of wrong) {
    const answer = await send({ password, isPasswordEncrypted: true });
    invalid(answer, /^password: isPasswordEncrypted is true; expected .*256 MiB.*2,000,000 rounds/, password);
    assert.ok(!JSON.stringify(answer.body).includes(password));
  }
  const plain = await createUser(admin, { password: BCRYPT });
  assert.match(await storedHash(plain), /^\$argon2id\$/, "without the flag it is a password like any other");
});

Deno.test("a foreign hash signs its user in and is replaced, also if it was stored before a limit that it exceeds", async () => {
  const firebase =
    "$firebase-scrypt$r=8,m=14,ss=Bw==,sk=jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==";
  const [email, other] = [newEmail(), newEmail()];
  const id = await createUser(admin, { email, password: firebase, isPasswordEncrypted: true });
  refused(await login(email, "user2password"), 401, "CREDENTIALS_INVALID_UNAUTHORIZED");
  assert.equal((await login(email, "user1password")).status, 200);
  assert.equal(needsRehash(await storedHash(id)), false);

  const manyLanes = await hash(PASSWORD, { memoryCost: 136, timeCost: 1, parallelism: 17 });
  invalid(await send({ password: manyLanes, isPasswordEncrypted: true }), "password");
  const early = await createUser(admin, { email: other });
  await sql`update users set password_hash = ${manyLanes} where id = ${early}`;
  assert.equal((await login(other)).status, 200);
  assert.equal(needsRehash(await storedHash(early)), false);
  const costly = `$scrypt$ln=15,r=8,p=9$c2FsdA$${"A".repeat(43)}`;
  assert.deepEqual([isAcceptedHash(costly), parseForeignHash(costly)?.method], [false, "scrypt"]);
});

Deno.test("roles of a new user must be within the caller's permissions and tenant", async () => {
  const roleId = await insertRole(t, tenantId, ["read:users"], "Reader");
  const { body } = await send({ tenants: [{ tenantId, roleIds: [roleId] }] });
  assert.deepEqual(body.roles, ["Reader"]);
  const elsewhere = await t.tenant();
  const reaching = await t.actor({ permissions: ["create:users", "manage:all-users"] });
  const visitor = await catalogRole(t, "Visitor", tenantId);
  const cases: [number, string, unknown, Actor?][] = [
    [403, "CROSS_TENANT_FORBIDDEN", [{ tenantId: elsewhere }]],
    [403, "CROSS_TENANT_FORBIDDEN", [{ tenantId: newUuid() }]],
    [404, "ROLE_NOT_FOUND", [{ tenantId, roleIds: [newUuid()] }]],
    [403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED", [{ tenantId, roleIds: [visitor] }]],
    [404, "TENANT_NOT_FOUND", [{ tenantId: newUuid() }], reaching],
  ];
  for (const [status, code, tenants, by] of cases) refused(await send({ tenants }, by), status, code);
  const { headers } = await send({ tenants: [{ tenantId: elsewhere, roleIds: [] }] }, reaching);
  await accepted(reaching.get(headers.get("location") ?? ""), 200);
});

Deno.test("a user's sessions can be listed and ended, one or all", async () => {
  const clerk = await t.actor({ permissions: ["read:users", "update:users"] });
  const home = { tenantId: clerk.tenantId ?? "" };
  const twins: [by: Actor, base: string, tenantId: string | null][] = [
    [t.systemAdmin, "/api/v1/admin/users", null],
    [clerk, "/api/v1/users", clerk.tenantId],
  ];
  for (const [by, base, tenantId] of twins) {
    const [user, other] = [await t.actor(home), await t.actor(home)];
    const path = `${base}/${user.userId}/sessions`;
    const { body: [session, ...more] } = await by.get(path);
    assert.deepEqual([session.isCurrent, more], [false, []]);
    refused(await by.delete(`${base}/${other.userId}/sessions/${session.id}`), 404, "SESSION_NOT_FOUND");
    assert.ok(await isSignedIn(user), "the session is not of the user in the path");
    assert.equal((await by.delete(`${path}/${session.id}`)).status, 200);
    assert.ok(!await isSignedIn(user));
    refused(await by.delete(`${path}/${session.id}`), 404, "SESSION_NOT_FOUND");
    assert.deepEqual((await by.delete(path)).body, { ended: 0 });
    assert.deepEqual((await by.delete(`${base}/${other.userId}/sessions`)).body, { ended: 1 });
    const rows = await sql`select action, tenant_id from audit_log where target_id = ${other.userId}`;
    assert.deepEqual([...rows], [{ action: "user.end-sessions", tenantId }]);
  }
});

Deno.test("an administrator of one tenant unlocks its own users and their devices", async () => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ role: "Admin", tenantId });
  const { id, email } = await person(t, { links: [tenantId] });
  const { deviceToken } = (await signIn(t, email)).body;
  for (let n = 0; n < 5; n++) {
    await signIn(t, email, "wrong");
    await signIn(t, email, "wrong", { deviceToken });
  }
  const isLocked = async () => (await admin.get(`/api/v1/users/${id}`)).body.isLockedOut;
  assert.equal(await isLocked(), true);
  for (let time = 0; time < 2; time++) {
    assert.equal((await admin.post(`/api/v1/users/${id}/unlock`)).status, 200);
  }
  assert.equal(await isLocked(), false);
  const rows =
    await sql`select actor_id, tenant_id from audit_log where target_id = ${id} and action = 'user.unlock'`;
  assert.deepEqual([...rows], [{ actorId: admin.userId, tenantId }], "one for both");
  for (const more of [{}, { deviceToken }]) {
    assert.equal((await signIn(t, email, PASSWORD, more)).status, 200);
  }
});

const sendLink = (by: Actor, id: string, family = "users") =>
  by.post(`/api/v1/${family}/${id}/password-reset`);

Deno.test("a user who is active in other tenants is changed, unlocked, signed out and mailed only with permission for all users", async () => {
  const id = await createUser(admin);
  const elsewhere = await linkElsewhere(id);
  await sql`update users set lockout_expires_at = now() + interval '10 minutes' where id = ${id}`;
  const attempts = async (by: Actor) => [
    await by.put(path(id), { firstName: "Mallory" }),
    await by.post(`${path(id)}/deactivate`),
    await by.post(`${path(id)}/activate`),
    await by.post(`${path(id)}/unlock`),
    await by.get(`${path(id)}/sessions`),
    await by.delete(`${path(id)}/sessions`),
    await sendLink(by, id),
  ];
  refused(await attempts(admin), 403, "CROSS_TENANT_FORBIDDEN");
  const read = async () => (await t.systemAdmin.get(`/api/v1/admin/users/${id}`)).body;
  assert.equal((await read()).isLockedOut, true);
  const reaching = await t.actor({ tenantId, permissions: [...ADMIN, "manage:all-users"] });
  for (const answer of await attempts(reaching)) await accepted(answer);
  has(await read(), { isLockedOut: false, lockoutExpiresAt: null });
  await sql`update user_tenants set is_active = false where user_id = ${id} and tenant_id = ${elsewhere}`;
  for (const answer of await attempts(admin)) await accepted(answer); // a deactivated link does not count
});

Deno.test("an administrator has a reset link mailed to the owner, who chooses the password", async () => {
  const subject = await t.actor({ tenantId });
  const token = await tokenOf(t, subject.email, () => sendLink(admin, subject.userId));
  assert.ok(await isSignedIn(subject), "nothing changes until the link is used");
  const newPassword = "chosen by the owner";
  assert.equal((await t.nobody.post("/auth/reset-password", { token, newPassword })).status, 204);
  assert.equal((await signIn(t, subject.email, newPassword)).status, 200);
});

Deno.test("a reset link is sent with platform reach too, and not to an inactive or a deleted user", async () => {
  const outsider = await t.actor();
  const manager = await t.actor({ permissions: ["manage:all-users"] });
  assert.ok(await tokenOf(t, outsider.email, () => sendLink(manager, outsider.userId, "admin/users")));
  const inactive = await t.actor({ tenantId });
  const send = (by: Actor, family?: string) => sendLink(by, inactive.userId, family);
  await sql`update users set is_active = false where id = ${inactive.userId}`;
  const attempts = [await send(admin), await send(t.systemAdmin, "admin/users")];
  refused(attempts, 409, "USER_INACTIVE_CONFLICT");
  await sql`update users set deleted_at = now() where id = ${inactive.userId}`;
  refused(await send(admin), 404, "USER_NOT_FOUND");
});

Deno.test("an update of isActive ends tokens; of simultaneous updates of one version, one succeeds", async () => {
  const id = await createUser(admin);
  const put = (body: object, headers = {}) => admin.put(path(id), body, headers);
  assert.equal((await put({ isActive: false })).body.isActive, false);
  assert.equal(await versionOf(id), 2);
  const answers = await atOnce(3, (n) => put({ firstName: `N${n}` }, { "if-match": '"2"' }));
  assert.deepEqual(statuses(answers), [200, 412, 412]);
});
