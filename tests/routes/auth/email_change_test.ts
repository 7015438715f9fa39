import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import { openBrowser } from "../../support/chromium.ts";
import type { HttpClient } from "../../support/http.ts";
import { setup } from "../../support/setup.ts";
import { mailsTo, withJobs } from "./mails.ts";
import { bearer, forgetFailures, PASSWORD, type Person, person, signIn } from "./people.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
Deno.test.beforeEach(() => forgetFailures(t));
const { sql } = t.steward.platform;

const newAddress = () => `${newId()}@new.example.test`;
const signedIn = async (user: Person): Promise<HttpClient> => bearer(t, await signIn(t, user.email));
const request = (me: HttpClient, newEmail: string, password = PASSWORD) =>
  withJobs(t, () => me.post("/api/v1/auth/change-email", { newEmail, password }));
const confirm = (token: string) => withJobs(t, () => t.nobody.post("/auth/confirm-email", { token }));

async function tokenFor(me: HttpClient, newEmail: string): Promise<string> {
  assert.equal((await request(me, newEmail)).status, 202);
  const [mail] = await mailsTo(t, newEmail);
  return /\/auth\/confirm-email#token=([\w-]{43})/.exec(mail?.textBody ?? "")?.[1] ?? "";
}

Deno.test("a confirmed email replaces the former one, and the former one is told twice", async () => {
  const user = await person(t);
  const [me, other] = [await signedIn(user), await signedIn(user)];
  const newEmail = newAddress();
  const token = await tokenFor(me, newEmail);
  assert.equal(
    (await me.get("/auth/me")).body.user.email,
    user.email,
    "nothing changes before the link is used",
  );
  assert.deepEqual((await mailsTo(t, user.email)).map(({ subject }) => subject), [
    "A new email was requested",
  ]);
  assert.ok(!JSON.stringify(await mailsTo(t, user.email)).includes(newEmail));
  assert.equal((await confirm(token)).status, 204);
  assert.deepEqual((await mailsTo(t, user.email)).map(({ subject }) => subject), [
    "Your email was changed",
    "A new email was requested",
  ]);
  assert.equal((await me.get("/auth/me")).body.user.email, newEmail);
  assert.equal((await other.get("/auth/me")).body.code, "TOKEN_REVOKED", "other sessions end");
  assert.equal((await signIn(t, user.email)).status, 401);
  assert.equal((await signIn(t, newEmail.toUpperCase())).status, 200);
  assert.equal((await confirm(token)).body.code, "EMAIL_TOKEN_INVALID");
  const { items } = (await t.systemAdmin.get(`/api/v1/audit-log?targetId=${user.id}`)).body;
  const row = items.find(({ action }: { action: string }) => action === "user.change-email");
  assert.deepEqual([row?.actorId, row?.before, row?.after], [user.id, { email: user.email }, {
    email: newEmail,
  }]);
});

Deno.test("a taken email gets the same answer; its owner is told and nobody gets a link", async () => {
  const [user, holder, deleted] = [await person(t), await person(t), await person(t)];
  await sql`update users set deleted_at = now() where id = ${deleted.id}`;
  const me = await signedIn(user);
  const answers = [
    await request(me, holder.email.toUpperCase()),
    await request(me, newAddress()),
    await request(me, deleted.email),
  ];
  for (const { status, body } of answers) assert.deepEqual([status, body], [202, answers[0]?.body]);
  const mails = await mailsTo(t, holder.email);
  assert.deepEqual(mails.map(({ subject }) => subject), ["This email already belongs to your account"]);
  assert.ok(!JSON.stringify(mails).includes("#token="));
  assert.deepEqual(await mailsTo(t, deleted.email), []);
});

Deno.test("an email that is taken between request and confirmation is refused, and the link works later", async () => {
  const user = await person(t);
  const newEmail = newAddress();
  const token = await tokenFor(await signedIn(user), newEmail);
  const rival = await person(t, { email: newEmail.toUpperCase() });
  const refused = await confirm(token);
  assert.deepEqual([refused.status, refused.body.code], [409, "USER_ALREADY_EXISTS"]);
  assert.equal((await signIn(t, user.email)).status, 200);
  await sql`update users set email = ${newAddress()} where id = ${rival.id}`;
  assert.equal((await confirm(token)).status, 204);
});

Deno.test("of two users who confirm the same email at once, one gets it", async () => {
  const newEmail = newAddress();
  const people = await Promise.all([person(t), person(t), person(t)]);
  const tokens: string[] = [];
  for (const user of people) tokens.push(await tokenFor(await signedIn(user), newEmail));
  const answers = await Promise.all(
    [...tokens, ...tokens].map((token) => t.nobody.post("/auth/confirm-email", { token })),
  );
  assert.equal(answers.filter(({ status }) => status === 204).length, 1);
  const codes = new Set(answers.filter(({ status }) => status !== 204).map(({ body }) => body.code));
  assert.deepEqual(
    [...codes].filter((code) => !["USER_ALREADY_EXISTS", "EMAIL_TOKEN_INVALID"].includes(code)),
    [],
  );
  const holders = await sql`select id from users where email = ${newEmail}`;
  assert.equal(holders.length, 1);
});

Deno.test("a change deletes reset links to the former email and other requests", async () => {
  const user = await person(t);
  const me = await signedIn(user);
  await withJobs(t, () => t.nobody.post("/auth/forgot-password", { email: user.email }));
  const [mail] = await mailsTo(t, user.email);
  const reset = /#token=([\w-]{43})/.exec(mail?.textBody ?? "")?.[1];
  const [first, second] = [await tokenFor(me, newAddress()), await tokenFor(me, newAddress())];
  assert.equal((await confirm(second)).status, 204);
  assert.equal((await confirm(first)).body.code, "EMAIL_TOKEN_INVALID");
  const answer = await t.nobody.post("/auth/reset-password", {
    token: reset,
    newPassword: "another good one",
  });
  assert.equal(answer.body.code, "RESET_TOKEN_INVALID");
});

Deno.test("a new password, by change or reset, and an administrator who ends all sessions end a change of another session", async () => {
  const newPassword = "another good one";
  const ends: Record<string, (user: Person) => Promise<unknown>> = {
    change: async (user) => {
      const owner = await signedIn(user);
      return await owner.post("/auth/change-password", { currentPassword: PASSWORD, newPassword });
    },
    reset: async ({ email }) => {
      await withJobs(t, () => t.nobody.post("/auth/forgot-password", { email }));
      const [mail] = await mailsTo(t, email);
      const token = /#token=([\w-]{43})/.exec(mail?.textBody ?? "")?.[1];
      return await t.nobody.post("/auth/reset-password", { token, newPassword });
    },
    "end sessions": ({ id }) => t.systemAdmin.delete(`/api/v1/admin/users/${id}/sessions`),
  };
  for (const [name, end] of Object.entries(ends)) {
    const user = await person(t);
    const thief = await signedIn(user);
    const token = await tokenFor(thief, newAddress());
    assert.ok(token);
    await end(user);
    assert.equal((await confirm(token)).body.code, "EMAIL_TOKEN_INVALID", name);
  }
});

Deno.test("a session that changes the password keeps its own change of the email", async () => {
  const user = await person(t);
  const me = await signedIn(user);
  const token = await tokenFor(me, newAddress());
  const newPassword = "another good one";
  assert.equal(
    (await me.post("/auth/change-password", { currentPassword: PASSWORD, newPassword })).status,
    204,
  );
  assert.equal((await confirm(token)).status, 204);
});

Deno.test("the letter case of the own email can be changed, the same email cannot", async () => {
  const user = await person(t);
  const me = await signedIn(user);
  const same = await request(me, user.email);
  assert.equal(same.status, 400);
  assert.match(same.body.errors[0], /^newEmail: this is already/);
  assert.equal((await confirm(await tokenFor(me, user.email.toUpperCase()))).status, 204);
  assert.equal((await me.get("/auth/me")).body.user.email, user.email.toUpperCase());
});

Deno.test("wrong passwords are reported by field and lock the account at the fifth", async () => {
  const user = await person(t);
  const me = await signedIn(user);
  for (let n = 0; n < 5; n++) {
    const answer = await request(me, newAddress(), "wrong");
    assert.equal(answer.status, 400);
    assert.match(answer.body.errors[0], /^password: /);
  }
  assert.equal((await request(me, newAddress())).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  assert.deepEqual(await mailsTo(t, user.email), []);
});

Deno.test("refusals: no token, an API key, malformed bodies, no password, expired links, inactive users", async () => {
  const user = await person(t);
  const me = await signedIn(user);
  assert.equal((await t.nobody.post("/auth/change-email", {})).body.code, "TOKEN_MISSING");
  const malformed = [
    {},
    { newEmail: "no-address", password: PASSWORD },
    { newEmail: newAddress() },
    { newEmail: `${"x".repeat(250)}@example.test`, password: PASSWORD },
    { newEmail: "a\0@example.test", password: PASSWORD },
    { newEmail: "\ud800@example.test", password: PASSWORD },
    { newEmail: newAddress(), password: "x".repeat(1025) },
    { newEmail: "a@example.test\r\nBcc: b@example.test", password: PASSWORD },
  ];
  for (const body of malformed) {
    assert.equal(
      (await me.post("/auth/change-email", body)).body.code,
      "VALIDATION_ERROR",
      JSON.stringify(body),
    );
  }
  for (const token of ["", 7, "x".repeat(201), null]) {
    assert.equal((await t.nobody.post("/auth/confirm-email", { token })).body.code, "VALIDATION_ERROR");
  }
  assert.equal((await confirm("A".repeat(43))).body.code, "EMAIL_TOKEN_INVALID");
  const [expired, late] = [await tokenFor(me, newAddress()), await tokenFor(me, newAddress())];
  await sql`update email_changes set expires_at = now() where token_hash = sha256(${expired}::text::bytea)`;
  assert.equal((await confirm(expired)).body.code, "EMAIL_TOKEN_INVALID");
  await sql`update users set is_active = false where id = ${user.id}`;
  assert.equal((await confirm(late)).body.code, "EMAIL_TOKEN_INVALID");
  const provided = await t.actor();
  const none = await request(provided, newAddress());
  assert.match(none.body.errors[0], /^password: the account has no password/);
});

Deno.test("one user causes at most five links within 30 minutes, also to taken emails", async () => {
  const [user, holder] = [await person(t), await person(t)];
  const me = await signedIn(user);
  for (let n = 0; n < 7; n++) assert.equal((await request(me, holder.email)).status, 202);
  assert.equal((await mailsTo(t, holder.email)).length, 5);
  assert.equal((await mailsTo(t, user.email)).length, 5);
  assert.equal(await tokenFor(me, newAddress()), "");
});

Deno.test("tokens are stored as hashes, and no job or message shows them", async () => {
  const user = await person(t);
  const token = await tokenFor(await signedIn(user), newAddress());
  const [row] = await sql`select extract(epoch from expires_at - created_at)::int as seconds,
    token_hash = sha256(${token}::text::bytea) as is_hashed from email_changes where user_id = ${user.id}`;
  assert.deepEqual({ ...row }, { seconds: 1800, isHashed: true });
  for (const path of ["/api/v1/notifications?pageSize=100", "/api/v1/jobs?pageSize=100"]) {
    assert.ok(!JSON.stringify((await t.systemAdmin.get(path)).body).includes(token));
  }
  assert.ok(!t.logs.join("\n").includes(token));
});

Deno.test("the mails follow the language of the owner's default tenant", async () => {
  const user = await person(t);
  await sql`insert into notification_settings (tenant_id, default_locale) values (${user.tenantId}, 'pt-BR')`;
  const newEmail = newAddress();
  const token = await tokenFor(await signedIn(user), newEmail);
  assert.deepEqual((await mailsTo(t, newEmail)).map(({ subject }) => subject), ["Confirme seu novo e-mail"]);
  assert.equal((await confirm(token)).status, 204);
  const subjects = (await mailsTo(t, user.email)).map(({ subject }) => subject);
  assert.deepEqual(subjects, ["Seu e-mail foi alterado", "Um novo e-mail foi solicitado"]);
});

const browser = await openBrowser();
Deno.test.afterAll(() => browser?.close());

Deno.test({
  name: "the page of a link changes the email only when its button is used (Chromium)",
  ignore: browser === null,
  async fn() {
    const user = await person(t);
    const newEmail = newAddress();
    const token = await tokenFor(await signedIn(user), newEmail);
    const page = await (await (browser ?? assert.fail()).newContext({ locale: "pt-PT" })).newPage();
    await page.goto(`${t.url}/auth/confirm-email#token=${token}`);
    assert.equal(await page.title(), "Confirme seu novo e-mail · Steward");
    assert.ok(!page.url().includes(token));
    assert.equal((await signIn(t, user.email)).status, 200);
    await page.getByRole("button", { name: "Confirmar o e-mail" }).click();
    await page.getByText("Pronto.").waitFor();
    assert.equal((await signIn(t, newEmail)).status, 200);
    await page.goto("about:blank");
    await page.goto(`${t.url}/auth/confirm-email#token=${token}`);
    await page.getByRole("button").click();
    await page.getByText("já foi usado").waitFor();
  },
});
