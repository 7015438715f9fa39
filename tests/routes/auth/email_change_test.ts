import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { digest, newSecret } from "../../../domain/shared/secrets.ts";
import type { HttpClient } from "../../support/http.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { mailsTo, resetTokenFor, subjectsTo, tokenOf, withJobs } from "./mails.ts";
import { bearer, PASSWORD, person, setupSignIns, signedIn, signIn, withToken } from "./people.ts";

const t = await setupSignIns();
const { sql } = t.steward.platform;
const INVALID = "400 EMAIL_TOKEN_INVALID";
const NEW = "another good one";

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
  const changePassword = (me: HttpClient) =>
    me.post("/auth/change-password", { currentPassword: PASSWORD, newPassword: NEW });
  const owned = await signedIn(t);
  const kept = await tokenFor(owned);
  await accepted(changePassword(owned.me), 204);
  await accepted(confirm(kept), 204); // a session keeps its own change
  const ends: Record<string, (id: string, email: string) => Promise<unknown>> = {
    change: async (_, email) => await changePassword(bearer(t, await signIn(t, email))),
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
  await sql`update email_changes set expires_at = now() where ${isExpired}`;
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
