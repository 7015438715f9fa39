import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { digest, newSecret } from "../../../domain/shared/secrets.ts";
import { has, pluck } from "../../support/answers.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { addApp, TestApp } from "../auth/factors.ts";
import { mailsTo, tokenIn, withJobs } from "../auth/mails.ts";
import { bearer, forgetFailures, PASSWORD, person, racing, racingFor, signIn } from "../auth/people.ts";
import { atOnce, idOf, isSignedIn, refused, statuses } from "./answers.ts";
import { ADMIN, insertLink, insertRole, newEmail, newUser } from "./users.ts";

const t = await setupShared();
Deno.test.beforeEach(() => forgetFailures(t));
const { sql } = t.steward.platform;

const admin = await t.actor({ permissions: ADMIN });
const tenantId = admin.tenantId ?? "";
const NEW = "a quite new password";
const UNKNOWN = "CREDENTIALS_INVALID_UNAUTHORIZED";
const at = "/api/v1/users/invitations";
const invite = (email: string, by: HttpClient = admin, roleId: string | null = admin.roleId) =>
  by.post("/api/v1/users/invite", { email, roleIds: [roleId], firstName: "Eva" });
const accept = (token: string, password = NEW, proof = {}) =>
  t.nobody.post("/api/v1/auth/invitations/accept", { token, password, ...proof });
const offer = (token: string) => t.nobody.post("/auth/invitations/read", { token });

/** An open invitation of this inviter, without its mail. */
async function invited(email = newEmail(), by: Inviter = admin, roleId = admin.roleId) {
  const [id, token] = [newId(), newSecret()];
  await sql`insert into invitations (id, tenant_id, email, first_name, last_name, role_ids, invited_by, token_hash, expires_at)
    values (${id}, ${by.tenantId}, ${email}, 'Eva', '', ${[roleId]}, ${by.userId}, ${
    digest(token)
  }, now() + interval '7 days')`;
  return { id, email, token };
}
type Inviter = Pick<Actor, "userId" | "tenantId">;

/** The answer of `act`, and the token of the newest link that was mailed to the email then. */
async function mailed(email: string, act: () => Promise<HttpAnswer>) {
  const result = await withJobs(t, act);
  return { result, token: (await mailsTo(t, email)).map(tokenIn)[0] ?? "" };
}
const statusOf = async (id: string) => (await admin.get(`${at}/${id}`)).body.status;

Deno.test("a person without an account accepts with a password, and can sign in", async () => {
  const email = newEmail();
  const { result, token } = await mailed(email, () => invite(email));
  const { id, createdAt, expiresAt, ...rest } = await accepted(result, 201);
  assert.equal(Date.parse(expiresAt) - Date.parse(createdAt), 7 * 86_400_000);
  has(rest, { email, firstName: "Eva", status: "Pending", invitedBy: admin.userId, sentAt: createdAt });
  assert.deepEqual(pluck(rest.roles, "id"), [admin.roleId]);
  const tenantName = `Tenant ${tenantId}`;
  const offered = { email, tenantName, expiresAt, account: "New", hasSecondFactor: false };
  has((await offer(token)).body, { ...offered, looks: { productName: tenantName } });
  for (const password of ["short", email]) refused(await accept(token, password), 400, "VALIDATION_ERROR");
  const { userId, ...joined } = await accepted(accept(token), 200);
  assert.deepEqual(joined, { email, tenantId, tenantName });
  const session = await signIn(t, email, NEW);
  has(session.body, { tenant: { id: tenantId }, permissions: ADMIN.toSorted(), user: { firstName: "Eva" } });
  has((await admin.get(`${at}/${id}`)).body, { status: "Accepted", userId });
  const [audited] =
    await sql`select tenant_id from audit_log where target_id = ${userId} and action = 'user.create'`;
  assert.equal(audited?.tenantId, tenantId);
  refused(await accept(token), 400, "INVITATION_INVALID");
});

Deno.test("an existing account joins with its own password; the link never replaces it", async () => {
  const user = await person(t);
  const { token } = await invited(user.email);
  const session = bearer(t, await signIn(t, user.email));
  assert.equal((await offer(token)).body.account, "Password");
  refused(await accept(token, NEW), 401, UNKNOWN);
  assert.ok(await isSignedIn(session));
  assert.equal((await accept(token, PASSWORD)).body.userId, user.id);
  assert.ok(!await isSignedIn(session), "a new link ends sessions");
  refused(await signIn(t, user.email, NEW), 401, "CREDENTIALS_INVALID_UNAUTHORIZED");
  const { body: { tenant, tenants } } = await signIn(t, user.email);
  assert.equal(tenant.id, user.tenantId, "the default tenant stays");
  assert.equal(tenants.length, 2);
});

Deno.test("an account with a second factor joins with its password and a code, not with the password alone", async () => {
  const user = await person(t);
  const { app, recoveryCodes: [recoveryCode], usedCode } = await addApp(
    bearer(t, await signIn(t, user.email)),
    { now: Date.now, step: 0 },
  );
  const { token } = await invited(user.email);
  assert.equal((await offer(token)).body.hasSecondFactor, true);
  const join = (proof: object, password = PASSWORD, by = token) => accept(by, password, proof);
  const without = await join({});
  refused(without, 400, "VALIDATION_ERROR");
  assert.match(without.body.errors.join(), /^code: expected exactly one of/);
  refused(await join({ code: app.code(1) }, NEW), 401, "CREDENTIALS_INVALID_UNAUTHORIZED");
  refused(await join({ code: usedCode }), 401, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
  refused(await join({ recoveryCode: "wrong" }), 401, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
  const code = app.code(1);
  assert.equal((await join({ code })).body.userId, user.id);
  const other = await t.actor({ permissions: ADMIN });
  const { token: second } = await invited(user.email, other, other.roleId);
  refused(await join({ code }, PASSWORD, second), 401, "SECOND_FACTOR_INVALID_UNAUTHORIZED");
  assert.equal((await join({ recoveryCode }, PASSWORD, second)).body.userId, user.id);
});

Deno.test("an account that gets its first factor while it joins needs a code too", async () => {
  const user = await person(t);
  const me = bearer(t, await signIn(t, user.email));
  const path = "/api/v1/auth/factors/totp";
  const { factorId, secret } = (await me.post(path)).body;
  const code = new TestApp(secret, Date.now).code();
  const { id, token } = await invited(user.email);
  const raced = await racing(
    t,
    user.id,
    () => me.post(`${path}/confirm`, { factorId, code }),
    () => accept(token, PASSWORD),
  );
  assert.deepEqual(raced, ["200", "401 SECOND_FACTOR_INVALID_UNAUTHORIZED"]);
  assert.equal(await statusOf(id), "Pending");
});

Deno.test("five wrong passwords or codes of an invitation lock the account like wrong sign-ins", async () => {
  for (const isCode of [true, false]) {
    const user = await person(t);
    const { app } = await addApp(bearer(t, await signIn(t, user.email)), { now: Date.now, step: 0 });
    const { token } = await invited(user.email);
    const join = (proof: object = {}) => accept(token, PASSWORD, { code: app.code(1), ...proof });
    const [proof, code] = isCode
      ? [{ code: app.code(-1) }, "SECOND_FACTOR_INVALID_UNAUTHORIZED"]
      : [{ password: NEW }, "CREDENTIALS_INVALID_UNAUTHORIZED"];
    for (let n = 0; n < 5; n++) refused(await join(proof), 401, code);
    refused([await join(), await signIn(t, user.email)], 401, "ACCOUNT_LOCKED_UNAUTHORIZED");
  }
});

Deno.test("an account without a password joins signed in; another user's session does not", async () => {
  const subject = await t.actor();
  const other = await t.actor();
  const { token } = await invited(subject.email);
  assert.equal((await offer(token)).body.account, "SignedIn");
  refused(await accept(token, NEW), 401, "CREDENTIALS_INVALID_UNAUTHORIZED");
  const path = "/api/v1/auth/invitations/accept-signed-in";
  refused(await other.post(path, { token }), 403, "INVITATION_FORBIDDEN");
  refused(await subject.post(path, { token: "unknown" }), 400, "INVITATION_INVALID");
  assert.equal((await subject.post(path, { token })).body.userId, subject.userId);
});

Deno.test("an account that is inactive, deleted or linked meanwhile does not join", async () => {
  const ends: [number, string, (id: string) => Promise<unknown>][] = [
    [401, UNKNOWN, (id) => sql`update users set is_active = false where id = ${id}`],
    [409, "USER_ALREADY_EXISTS", (id) => sql`update users set deleted_at = now() where id = ${id}`],
    [409, "USER_ALREADY_ASSIGNED", (id) => insertLink(t, id, tenantId)],
  ];
  for (const [status, code, end] of ends) {
    const user = await person(t);
    const { token, id } = await invited(user.email);
    await end(user.id);
    refused(await accept(token, PASSWORD), status, code);
    assert.equal(await statusOf(id), "Pending");
  }
});

Deno.test("refusals of an invitation, in their order", async () => {
  const { body: member } = await admin.post("/api/v1/users", newUser());
  const strong = await insertRole(t, tenantId, ["delete:roles"]);
  const send = (...roleIds: unknown[]) =>
    admin.post("/api/v1/users/invite", { email: member.email, roleIds });
  refused(await send(strong, (await t.actor()).roleId), 404, "ROLE_NOT_FOUND");
  refused(await send(strong), 403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
  await sql`update tenants set max_users = 1 where id = ${tenantId}`;
  const taken = await send(admin.roleId);
  refused(taken, 409, "USER_ALREADY_ASSIGNED");
  assert.ok(!JSON.stringify(taken.body).includes(member.id), "the user's id is not told");
  refused(await invite(newEmail()), 400, "TENANT_CAPACITY_REACHED");
  await sql`update tenants set max_users = null where id = ${tenantId}`;
});

Deno.test("one invitation per email and tenant is open, also of simultaneous requests", async () => {
  const email = newEmail();
  assert.deepEqual(statuses(await withJobs(t, () => atOnce(3, () => invite(email)))), [201, 409, 409]);
  assert.equal((await mailsTo(t, email)).length, 1);
  refused(await invite(email.toUpperCase()), 409, "INVITATION_ALREADY_EXISTS");
  const outsider = await t.actor({ permissions: ADMIN });
  await idOf(invite(email, outsider, outsider.roleId)); // another tenant's invitation is no obstacle
});

Deno.test("an expired or revoked invitation is refused, shown so, and replaced by a new one", async () => {
  const ends: [status: string, end: (id: string) => Promise<unknown>][] = [
    ["Expired", (id) => sql`update invitations set expires_at = now() - interval '1 ms' where id = ${id}`],
    ["Revoked", (id) => admin.delete(`${at}/${id}`)],
  ];
  for (const [status, end] of ends) {
    const { id, email, token } = await invited();
    await end(id);
    refused([await offer(token), await accept(token)], 400, "INVITATION_INVALID");
    assert.equal(await statusOf(id), status);
    assert.equal((await invite(email)).status, 201);
    refused(await admin.post(`${at}/${id}/resend`, undefined), 409, "INVITATION_CLOSED_CONFLICT");
  }
  refused(await admin.get(`${at}/${crypto.randomUUID()}`), 404, "INVITATION_NOT_FOUND");
});

Deno.test("sending again mails a new link, which replaces the former and works for seven days", async () => {
  const { id, email, token } = await invited();
  await sql`update invitations set expires_at = now() - interval '1 ms' where id = ${id}`;
  const resend = () => admin.post(`${at}/${id}/resend`);
  const { result: again, token: newest } = await mailed(email, resend);
  assert.equal(again.body.status, "Pending");
  assert.ok(Date.parse(again.body.expiresAt) > Date.now() + 6.9 * 86_400_000);
  refused(await accept(token), 400, "INVITATION_INVALID");
  assert.equal((await accept(newest)).status, 200);
  refused(await resend(), 409, "INVITATION_CLOSED_CONFLICT");
  const weaker = await t.actor({ tenantId, permissions: ["create:users"] });
  const other = await invited();
  const resent = await weaker.post(`${at}/${other.id}/resend`, undefined);
  refused(resent, 403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
});

Deno.test("at acceptance the tenant must be active and have room, and the roles must exist", async () => {
  const owner = await t.actor({ permissions: ADMIN });
  const tenant = owner.tenantId ?? "";
  const first = await invited(newEmail(), owner, owner.roleId);
  const second = await invited(newEmail(), owner, owner.roleId);
  await sql`update tenants set is_active = false where id = ${tenant}`;
  refused(await accept(first.token), 403, "TENANT_FORBIDDEN");
  await sql`update tenants set is_active = true, max_users = 2 where id = ${tenant}`;
  const racing = await Promise.all([accept(first.token), accept(second.token)]);
  const codes = racing.map(({ status, body }) => status === 200 ? "joined" : body.code);
  assert.deepEqual(codes.sort(), ["TENANT_CAPACITY_REACHED", "joined"]);
  await sql`update tenants set max_users = null where id = ${tenant}`;
  const roleId = await insertRole(t, tenant);
  const { token } = await invited(newEmail(), owner, roleId);
  await sql`update roles set deleted_at = now() where id = ${roleId}`;
  refused(await accept(token), 404, "ROLE_NOT_FOUND");
});

Deno.test("an invitation that waits for the deletion of the tenant is refused, and so is its acceptance", async () => {
  const raced: string[] = [];
  for (const isAccepted of [false, true]) {
    const inviter = await t.actor({ permissions: ADMIN });
    const { token } = await invited(newEmail(), inviter, inviter.roleId);
    const invite = { email: newEmail(), roleIds: [inviter.roleId] };
    raced.push(
      ...await racingFor(
        t,
        (tx) => tx`select from tenants where id = ${inviter.tenantId} for update`,
        () => t.systemAdmin.delete(`/api/v1/tenants/${inviter.tenantId}`),
        () => isAccepted ? accept(token) : inviter.post("/api/v1/users/invite", invite),
      ),
    );
  }
  assert.deepEqual(raced, ["200", "403 TENANT_FORBIDDEN", "200", "400 INVITATION_INVALID"]);
});

Deno.test("of simultaneous uses of one link one succeeds", async () => {
  const { token } = await invited();
  assert.deepEqual(statuses(await atOnce(3, () => accept(token))), [200, 400, 400]);
  const user = await person(t);
  const joining = await invited(user.email);
  assert.deepEqual(statuses(await atOnce(2, () => accept(joining.token, PASSWORD))), [200, 400]);
});

Deno.test("the mail is in the language of the tenant and contains the only copy of the token", async () => {
  const owner = await t.actor({ permissions: ADMIN });
  await sql`insert into notification_settings (tenant_id, default_locale) values (${owner.tenantId}, 'pt-PT')`;
  const email = newEmail();
  const { token } = await mailed(email, () => invite(email, owner, owner.roleId));
  const [mail] = await mailsTo(t, email);
  assert.match(mail?.subject ?? "", /^Convite para Tenant /);
  assert.ok(!t.logs.some((line) => line.includes(token)));
  const leaks = await sql`select 1 from audit_log where after::text like ${`%${token}%`}
    union all select 1 from jobs where serialized_args like ${`%${token}%`}`;
  assert.equal(leaks.length, 0);
});

Deno.test("an invitation gives nothing once its inviter lost a permission of its roles", async () => {
  const inviter = await t.actor({ permissions: [...ADMIN, "read:roles"] });
  const owner = await t.actor({ tenantId: inviter.tenantId!, permissions: [...ADMIN, "read:roles"] });
  const { id, email, token } = await invited(newEmail(), inviter, owner.roleId);
  assert.equal((await offer(token)).status, 200);
  await owner.put(`/api/v1/users/${inviter.userId}/roles`, { roleIds: [] });
  for (const attempt of [(token: string) => accept(token), offer]) {
    const answer = await attempt(token);
    refused(answer, 403, "INVITATION_INVITER_FORBIDDEN");
    assert.ok(!answer.body.detail.includes("read:roles"), "who is no member does not learn permissions");
  }
  assert.equal((await sql`select from users where email = ${email}`).length, 0);
  assert.equal((await owner.get(`/api/v1/users/invitations/${id}`)).body.status, "Pending");
  const { result: again, token: newest } = await mailed(email, () => owner.post(`${at}/${id}/resend`));
  assert.equal(again.body.invitedBy, owner.userId, "who sends it again is the inviter");
  assert.equal((await accept(newest)).status, 200);
});

Deno.test("an invitation gives nothing once its inviter is deactivated, deleted, unlinked, revoked or expired, or may no longer invite", async () => {
  const owner = await t.actor({ permissions: ADMIN });
  const tenantId = owner.tenantId!;
  const ends: Record<string, (inviter: Actor) => Promise<unknown>> = {
    deactivated: ({ userId }) => owner.post(`/api/v1/users/${userId}/deactivate`),
    deleted: ({ userId }) => owner.delete(`/api/v1/users/${userId}`),
    unlinked: ({ userId }) => sql`delete from user_tenants where user_id = ${userId}`,
    "without create:users": ({ roleId }) =>
      sql`delete from role_permissions where role_id = ${roleId}
        and permission_id = (select id from permissions where code = 'create:users' and tenant_id is null)`,
  };
  const roleId = await insertRole(t, tenantId);
  const give = async (inviter: Inviter) => (await invited(newEmail(), inviter, roleId)).token;
  for (const [name, end] of Object.entries(ends)) {
    const inviter = await t.actor({ tenantId, permissions: ADMIN });
    const token = await give(inviter);
    await end(inviter);
    assert.equal((await accept(token)).body.code, "INVITATION_INVITER_FORBIDDEN", name);
  }
  const onboarding = { name: "Onboarding", permissions: ADMIN, tenants: [tenantId] };
  const { body: account } = await t.systemAdmin.post("/api/v1/service-accounts", onboarding);
  const program = { userId: account.id, tenantId };
  assert.equal((await accept(await give(program))).status, 200);
  const token = await give(program);
  await sql`update service_accounts set expires_at = now() - interval '1 ms' where id = ${account.id}`;
  refused(await accept(token), 403, "INVITATION_INVITER_FORBIDDEN");
  await sql`update service_accounts set expires_at = null where id = ${account.id}`;
  await t.systemAdmin.delete(`/api/v1/service-accounts/${account.id}`);
  refused(await accept(token), 403, "INVITATION_INVITER_FORBIDDEN");
});
