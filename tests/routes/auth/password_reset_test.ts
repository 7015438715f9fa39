import assert from "node:assert/strict";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import { mailsTo, resetTokenFor, tokenOf, withJobs } from "./mails.ts";
import { bearer, failSignIns, PASSWORD, person, refresh, setupSignIns, signedIn, signIn } from "./people.ts";

const t = await setupSignIns();
const { sql } = t.steward.platform;
const NEW = "a new and better one";
const INVALID = "400 RESET_TOKEN_INVALID";

const ask = (email: string, more = {}, headers = {}) =>
  t.nobody.post("/api/v1/auth/forgot-password", { email, ...more }, headers);
const forgot = (...asked: Parameters<typeof ask>) => withJobs(t, () => accepted(ask(...asked), 202));
const tokenFor = (email: string) => tokenOf(t, email, () => ask(email));
const reset = (token: string, newPassword = NEW) =>
  t.nobody.post("/api/v1/auth/reset-password", { token, newPassword });

Deno.test("a reset link is mailed, works once, and ends every session of the user", async () => {
  const { email, me, tokens } = await signedIn(t);
  const token = await tokenFor(email.toUpperCase());
  const [mail] = await mailsTo(t, email);
  assert.ok(mail?.textBody.includes(`${t.url}/auth/reset-password#token=${token}`));
  const page = await t.nobody.get("/auth/reset-password", { "accept-language": "pt" });
  assert.match(page.body, /<html lang="pt">.*Definir uma nova senha/s);
  assert.match(mail?.htmlBody ?? "", /Some/);
  const answers = await Promise.all([1, 2, 3].map(() => outcome(reset(token))));
  assert.deepEqual(answers.sort(), ["204", INVALID, INVALID], "also at once");
  await refused("401 TOKEN_REVOKED", me.get("/auth/me"), refresh(t, tokens));
  await refused("401 CREDENTIALS_INVALID_UNAUTHORIZED", signIn(t, email));
  await accepted(signIn(t, email, NEW));
});

Deno.test("unknown, inactive and deleted users get the same answer and no mail", async () => {
  const [inactive, deleted] = [await person(t, { isActive: false }), await person(t)];
  await sql`update users set deleted_at = now() where id = ${deleted.id}`;
  const emails = ["nobody@example.test", inactive.email, deleted.email, "not an email"];
  await withJobs(t, () => Promise.all(emails.map((email) => accepted(ask(email), 202))));
  for (const email of emails) assert.deepEqual(await mailsTo(t, email), []);
});

Deno.test("a link sets the password of a user without one, and lifts a lockout", async () => {
  const { email } = await person(t, { passwordHash: null });
  await failSignIns(t, email, 5);
  await refused("401 ACCOUNT_LOCKED_UNAUTHORIZED", signIn(t, email));
  await accepted(reset(await resetTokenFor(t, email)), 204);
  await accepted(signIn(t, email, NEW));
});

Deno.test("a link is valid for 30 minutes and its token is stored as a hash; it is for active users", async () => {
  const { id, email } = await person(t);
  const token = await tokenFor(email);
  const [row] = await sql`select extract(epoch from expires_at - created_at)::int as seconds,
    token_hash = sha256(${token}::text::bytea) as is_hashed from password_resets where user_id = ${id}`;
  assert.deepEqual({ ...row }, { seconds: 1800, isHashed: true });
  await refused(INVALID, reset("unknown"));
  await sql`update users set is_active = false where id = ${id}`;
  await refused(INVALID, reset(token));
  await sql`update users set is_active = true where id = ${id}`;
  await sql`update password_resets set expires_at = now() - interval '1 ms' where user_id = ${id}`;
  await refused(INVALID, reset(token));
  await accepted(signIn(t, email));
});

Deno.test("a refused password does not use up the link; using one of several, or a change of the password, invalidates the others", async () => {
  const { id, email, me } = await signedIn(t);
  const [first, second] = [await resetTokenFor(t, email), await resetTokenFor(t, email)];
  await refused("400 VALIDATION_ERROR", reset(first, "short"));
  const noQuiet = "quiet hours of the owner do not hold up a link";
  await sql`insert into notification_preferences (user_id, time_zone_id, quiet_from, quiet_to)
    values (${id}, 'UTC', 0, 1439), (${crypto.randomUUID()}, 'UTC', 0, 1439)`;
  const third = await tokenFor(email);
  assert.notEqual(third, "", noQuiet);
  await accepted(reset(first, PASSWORD), 204);
  await refused(INVALID, reset(second), reset(third));
  const fourth = await resetTokenFor(t, email);
  await accepted(
    bearer(t, await signIn(t, email)).post("/auth/change-password", {
      currentPassword: PASSWORD,
      newPassword: NEW,
    }),
  );
  await refused(INVALID, reset(fourth));
  await refused("401 TOKEN_REVOKED", me.get("/auth/me"));
});

Deno.test("a user gets at most five valid links of each requester, 20 of all addresses, and all of administrators", async () => {
  const { id, email, tenantId, tokens: { deviceToken } } = await signedIn(t);
  /** Repeats the newest link as if its requester, or each of other ones, had asked that many times. */
  const repeat = (count: number, requester = sql`requester`) =>
    sql`insert into password_resets (token_hash, user_id, requester, expires_at)
      select uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()), user_id, ${requester}, expires_at
      from (select * from password_resets where user_id = ${id} order by created_at desc limit 1) newest,
        generate_series(1, ${count}) n`;
  let mails = 0;
  const isMailed = async (send: () => Promise<unknown>) => {
    await send();
    const { length } = await mailsTo(t, email);
    return length > mails && (mails = length);
  };
  const byStranger = (ip = "198.51.100.9") => isMailed(() => forgot(email, {}, { "x-forwarded-for": ip }));
  const byDevice = (token = deviceToken) => isMailed(() => forgot(email, { deviceToken: token }));
  assert.ok(await byStranger());
  await repeat(4);
  assert.ok(!await byStranger(), "five of one address");
  assert.ok(await byDevice(), "strangers do not hold up a known device");
  await repeat(4);
  assert.ok(!await byDevice());
  await repeat(14, sql`'address:' || n`);
  assert.ok(await byDevice("forged"), "a forged token counts as none");
  assert.ok(!await byStranger("203.0.113.2"), "twenty of all addresses");
  const admin = await t.actor({ tenantId, permissions: ["update:users"] });
  const send = () => withJobs(t, () => accepted(admin.post(`/api/v1/users/${id}/password-reset`), 202));
  assert.ok(await isMailed(send));
  await repeat(5);
  assert.ok(await isMailed(send));
  const args = await sql`select from jobs where strpos(serialized_args, ${deviceToken}) > 0`;
  assert.equal(args.count, 0);
});

Deno.test("neither a tenant's staff nor an administrator can read mailed links in messages, jobs or logs", async () => {
  const { email, tenantId, me } = await signedIn(t);
  const newEmail = `new-${email}`;
  const change = () => me.post("/auth/change-email", { newEmail, password: PASSWORD });
  const tokens = [await tokenFor(email), await tokenOf(t, newEmail, change)];
  const staff = await t.actor({ tenantId, permissions: ["send:notifications"] });
  const shown = [t.logs];
  for (const reader of [staff, t.systemAdmin]) {
    for (const path of ["/api/v1/notifications", "/api/v1/jobs"]) {
      const { items } = await accepted(reader.get(`${path}?pageSize=100`));
      shown.push(items);
      for (const { id } of items.slice(0, 8)) shown.push(await accepted(reader.get(`${path}/${id}`)));
    }
  }
  const text = JSON.stringify(shown);
  for (const token of tokens) assert.ok(token && !text.includes(token));
});
