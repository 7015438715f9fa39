import assert from "node:assert/strict";
import { has, pluck } from "../../support/answers.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
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
import { newId } from "../../../domain/shared/ids.ts";
import { digest, newSecret } from "../../../domain/shared/secrets.ts";
import type { HttpClient } from "../../support/http.ts";
import { mailsTo, resetTokenFor, subjectsTo, tokenOf, withJobs } from "./mails.ts";

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

const INVALID = "400 EMAIL_TOKEN_INVALID";
const newAddress = () => `${newId()}@new.example.test`;
const ask = (me: HttpClient, newEmail: string, password = PASSWORD) =>
  me.post("/api/v1/auth/change-email", { newEmail, password });
const request = (me: HttpClient, newEmail: string) => withJobs(t, () => accepted(ask(me, newEmail), 202));
const mailedToken = (me: HttpClient, newEmail: string) => tokenOf(t, newEmail, () => ask(me, newEmail));
/** The token of a link that the newest session of the user asked for, without its mails. */
async function tokenFor({ id }: { id: string }, newEmail = newAddress()): Promise<string> {
  const token = newSecret();
  await sql`insert into email_changes (user_id, new_email, session_id, token_hash, expires_at)
    select user_id, ${newEmail}, id, ${digest(token)}, now() + interval '30 minutes' from sessions
    where user_id = ${id} order by created_at desc limit 1`;
  return token;
}
const confirm = (token: string) => t.nobody.post("/auth/confirm-email", { token });
const emailOf = async (me: HttpClient) => (await accepted(me.get("/auth/me"))).user.email;

Deno.test("a confirmed email replaces the former one, and the former one is told twice", async () => {
  const { id, email, me } = await signedIn(t);
  const other = await accepted(signIn(t, email));
  const newEmail = newAddress();
  const token = await mailedToken(me, newEmail);
  assert.equal(await emailOf(me), email, "nothing changes before the link is used");
  assert.deepEqual(await subjectsTo(t, email), ["A new email was requested"]);
  assert.ok(!JSON.stringify(await mailsTo(t, email)).includes(newEmail));
  await accepted(withJobs(t, () => confirm(token)), 204);
  assert.deepEqual(await subjectsTo(t, email), ["Your email was changed", "A new email was requested"]);
  assert.equal(await emailOf(me), newEmail);
  await refused("401 TOKEN_REVOKED", withToken(t, other.accessToken).get("/auth/me"));
  await refused("401 CREDENTIALS_INVALID_UNAUTHORIZED", signIn(t, email));
  await accepted(signIn(t, newEmail.toUpperCase()));
  await refused(INVALID, confirm(token));
  const { items } = await accepted(t.systemAdmin.get(`/api/v1/audit-log?targetId=${id}`));
  const { actorId, before, after } = items.find(({ action }: { action: string }) =>
    action === "user.change-email"
  );
  assert.deepEqual([actorId, before, after], [id, { email }, { email: newEmail }]);
});

Deno.test("a taken email gets the same answer; its owner is told and nobody gets a link", async () => {
  const [holder, deleted] = [await person(t), await person(t)];
  await sql`update users set deleted_at = now() where id = ${deleted.id}`;
  const { me } = await signedIn(t);
  const answers = [];
  for (const email of [holder.email.toUpperCase(), newAddress(), deleted.email]) {
    answers.push(await request(me, email));
  }
  for (const answer of answers) assert.deepEqual(answer, answers[0]);
  assert.deepEqual(await subjectsTo(t, holder.email), ["This email already belongs to your account"]);
  assert.ok(!JSON.stringify(await mailsTo(t, holder.email)).includes("#token="));
  assert.deepEqual(await mailsTo(t, deleted.email), []);
});

Deno.test("one user causes at most five links within 30 minutes, also to taken emails", async () => {
  const holder = await person(t);
  const { id, email, me } = await signedIn(t);
  await request(me, holder.email);
  await sql`insert into email_changes (id, user_id, new_email, session_id, expires_at)
    select gen_random_uuid(), user_id, new_email, session_id, expires_at
    from email_changes, generate_series(1, 3) where user_id = ${id}`;
  for (let n = 0; n < 2; n++) await request(me, holder.email);
  assert.deepEqual([(await mailsTo(t, holder.email)).length, (await mailsTo(t, email)).length], [2, 2]);
  assert.equal(await mailedToken(me, newAddress()), "");
});

Deno.test("an email that is taken meanwhile is refused, and the link works later; of two users who confirm it at once, one gets it", async () => {
  const users = [await signedIn(t), await signedIn(t)];
  const newEmail = newAddress();
  const tokens = [await tokenFor(users[0]!, newEmail), await tokenFor(users[1]!, newEmail)];
  const rival = await person(t, { email: newEmail.toUpperCase() });
  await refused("409 USER_ALREADY_EXISTS", confirm(tokens[0] ?? ""));
  await accepted(signIn(t, users[0]!.email));
  await sql`update users set email = ${newAddress()} where id = ${rival.id}`;
  const answers = await Promise.all([...tokens, ...tokens].map((token) => outcome(confirm(token))));
  const others = answers.filter((answer) => answer !== "204");
  assert.equal(others.length, 3, answers.join());
  assert.ok(others.every((answer) => ["409 USER_ALREADY_EXISTS", INVALID].includes(answer)), answers.join());
  assert.equal((await sql`select from users where email = ${newEmail}`).count, 1);
});

Deno.test("a change deletes reset links to the former email and other requests", async () => {
  const user = await signedIn(t);
  const token = await resetTokenFor(t, user.email);
  const [first, second] = [await tokenFor(user), await tokenFor(user)];
  await accepted(confirm(second), 204);
  await refused(INVALID, confirm(first));
  const reset = t.nobody.post("/auth/reset-password", { token, newPassword: NEW });
  await refused("400 RESET_TOKEN_INVALID", reset);
});

Deno.test("a change is ended by a new password of another session, by change or reset, and by an administrator who ends all sessions", async () => {
  const owned = await signedIn(t);
  const kept = await tokenFor(owned);
  await accepted(changePassword(owned), 204);
  await accepted(confirm(kept), 204); // a session keeps its own change
  const ends: Record<string, (id: string, email: string) => Promise<unknown>> = {
    change: async (_, email) => await changePassword(await signedInAgain({ email })),
    reset: async (_, email) =>
      t.nobody.post("/auth/reset-password", { token: await resetTokenFor(t, email), newPassword: NEW }),
    "end sessions": (id) => t.systemAdmin.delete(`/api/v1/admin/users/${id}/sessions`),
  };
  for (const [name, end] of Object.entries(ends)) {
    const user = await signedIn(t);
    const token = await tokenFor(user);
    await end(user.id, user.email);
    assert.equal(await outcome(confirm(token)), INVALID, name);
  }
});

Deno.test("a link is refused if it is unknown or expired, or the user inactive", async () => {
  const { id, me } = await signedIn(t);
  await refused(INVALID, confirm("A".repeat(43)));
  const [expired, late] = [await mailedToken(me, newAddress()), await tokenFor({ id })];
  const isExpired = sql`token_hash = sha256(${expired}::text::bytea)`;
  const [row] = await sql`select extract(epoch from expires_at - created_at)::int as seconds
    from email_changes where ${isExpired}`;
  assert.ok(row?.seconds >= 30 * 60 && row?.seconds < 40 * 60, "30 minutes, from the sending of the mail on");
  await sql`update email_changes set expires_at = now() - interval '1 ms' where ${isExpired}`;
  await refused(INVALID, confirm(expired));
  await sql`update users set is_active = false where id = ${id}`;
  await refused(INVALID, confirm(late));
});

Deno.test("the letter case of the own email can be changed, the same email cannot", async () => {
  const { email, me } = await signedIn(t);
  await refused("400 VALIDATION_ERROR", ask(me, email));
  await accepted(confirm(await mailedToken(me, email.toUpperCase())), 204);
  assert.equal(await emailOf(me), email.toUpperCase());
});
