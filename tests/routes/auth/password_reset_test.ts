import assert from "node:assert/strict";
import { openBrowser } from "../../support/chromium.ts";
import { setup } from "../../support/setup.ts";
import { mailsTo, withJobs } from "./mails.ts";
import { bearer, forgetFailures, PASSWORD, person, signIn } from "./people.ts";

const t = await setup({ PUBLIC_URL: "https://steward.example.test/base/" });
const elsewhere = await setup({ RESET_URL: "https://app.example.test/reset?t={token}" });
Deno.test.afterAll(() => Promise.all([t.stop(), elsewhere.stop()]).then(() => {}));
Deno.test.beforeEach(() => forgetFailures(t));
const { sql } = t.steward.platform;
const NEW = "a new and better one";

/** Requests a reset and waits until its job and the following delivery are done. */
const forgot = (email: string, s = t) =>
  withJobs(s, async () => {
    assert.equal((await s.nobody.post("/api/v1/auth/forgot-password", { email })).status, 202);
  });

async function tokenFor(email: string): Promise<string> {
  await forgot(email);
  const [newest] = await mailsTo(t, email);
  return /#token=([\w-]{43})/.exec(newest?.textBody ?? "")?.[1] ?? "";
}

const reset = (token: string, newPassword = NEW) =>
  t.nobody.post("/api/v1/auth/reset-password", { token, newPassword });

Deno.test("a reset link is mailed, works once, and ends every session of the user", async () => {
  const user = await person(t);
  const session = await signIn(t, user.email);
  const token = await tokenFor(user.email.toUpperCase());
  const [mail] = await mailsTo(t, user.email);
  assert.match(mail?.textBody ?? "", /https:\/\/steward\.example\.test\/base\/auth\/reset-password#token=/);
  assert.match(mail?.htmlBody ?? "", /Some/);
  assert.equal((await reset(token)).status, 204);
  assert.equal((await bearer(t, session).get("/auth/me")).body.code, "TOKEN_REVOKED");
  const { refreshToken } = session.body;
  assert.equal((await t.nobody.post("/auth/refresh", { refreshToken })).body.code, "TOKEN_REVOKED");
  assert.equal((await signIn(t, user.email)).status, 401);
  assert.equal((await signIn(t, user.email, NEW)).status, 200);
  const again = await reset(token, "yet another one");
  assert.equal(again.status, 400);
  assert.equal(again.body.code, "RESET_TOKEN_INVALID");
  const [audited] = await sql`select actor_id, action from audit_log where target_id = ${user.id}`;
  assert.deepEqual({ ...audited }, { actorId: user.id, action: "user.reset-password" });
});

Deno.test("unknown, inactive and deleted users get the same answer and no mail", async () => {
  const inactive = await person(t, { isActive: false });
  const deleted = await person(t);
  await sql`update users set deleted_at = now() where id = ${deleted.id}`;
  for (const email of ["nobody@example.test", inactive.email, deleted.email, "not an email"]) {
    await forgot(email);
    assert.deepEqual(await mailsTo(t, email), []);
  }
});

Deno.test("a user without a password can set one with the link", async () => {
  const user = await person(t, { passwordHash: null });
  assert.equal((await reset(await tokenFor(user.email))).status, 204);
  assert.equal((await signIn(t, user.email, NEW)).status, 200);
});

Deno.test("tokens that are unknown, expired or of a deactivated user are rejected", async () => {
  const user = await person(t);
  const token = await tokenFor(user.email);
  assert.equal((await reset("unknown")).body.code, "RESET_TOKEN_INVALID");
  await sql`update users set is_active = false where id = ${user.id}`;
  assert.equal((await reset(token)).body.code, "RESET_TOKEN_INVALID");
  await sql`update users set is_active = true where id = ${user.id}`;
  await sql`update password_resets set expires_at = now() where user_id = ${user.id}`;
  assert.equal((await reset(token)).body.code, "RESET_TOKEN_INVALID");
  assert.equal((await signIn(t, user.email)).status, 200);
});

Deno.test("a link is valid for 30 minutes and its token is stored as a hash", async () => {
  const user = await person(t);
  const token = await tokenFor(user.email);
  const [row] = await sql`select extract(epoch from expires_at - created_at)::int as seconds,
    token_hash = sha256(${token}::text::bytea) as is_hashed from password_resets where user_id = ${user.id}`;
  assert.deepEqual({ ...row }, { seconds: 1800, isHashed: true });
});

Deno.test("an invalid new password is reported by field and does not use up the link", async () => {
  const user = await person(t);
  const token = await tokenFor(user.email);
  for (const password of ["short", user.email, "x".repeat(129)]) {
    const answer = await reset(token, password);
    assert.equal(answer.body.code, "VALIDATION_ERROR");
    assert.match(answer.body.errors[0], /^newPassword: /);
  }
  assert.equal((await reset(token)).status, 204);
});

Deno.test("any of several links works once, and using one invalidates the others", async () => {
  const user = await person(t);
  const [first, second] = [await tokenFor(user.email), await tokenFor(user.email)];
  assert.notEqual(first, second);
  assert.equal((await reset(first)).status, 204);
  assert.equal((await reset(second)).body.code, "RESET_TOKEN_INVALID");
});

Deno.test("of simultaneous uses of one link one succeeds", async () => {
  const token = await tokenFor((await person(t)).email);
  const answers = await Promise.all(Array.from({ length: 5 }, (_, n) => reset(token, `${NEW} ${n}`)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 400, 400, 400, 400]);
});

Deno.test("a reset lifts the lockout", async () => {
  const user = await person(t);
  for (let n = 0; n < 5; n++) await signIn(t, user.email, "wrong");
  assert.equal((await signIn(t, user.email)).body.code, "ACCOUNT_LOCKED_UNAUTHORIZED");
  assert.equal((await reset(await tokenFor(user.email))).status, 204);
  assert.equal((await signIn(t, user.email, NEW)).status, 200);
});

Deno.test("a user gets at most five valid links, however often a reset is requested", async () => {
  const user = await person(t);
  for (let n = 0; n < 7; n++) await forgot(user.email);
  assert.equal((await mailsTo(t, user.email)).length, 5);
});

Deno.test("a stranger's requests hold up neither a known device nor an administrator", async () => {
  const user = await person(t);
  const { deviceToken } = (await signIn(t, user.email)).body;
  for (let n = 0; n < 6; n++) await forgot(user.email);
  const count = async () => (await mailsTo(t, user.email)).length;
  assert.equal(await count(), 5);
  const body = { email: user.email, deviceToken };
  await withJobs(t, () => t.nobody.post("/api/v1/auth/forgot-password", { ...body, deviceToken: "forged" }));
  assert.equal(await count(), 5, "a forged token counts as none");
  for (let n = 0; n < 6; n++) await withJobs(t, () => t.nobody.post("/api/v1/auth/forgot-password", body));
  assert.equal(await count(), 10, "a device has a limit of its own");
  const admin = await t.actor({ tenantId: user.tenantId, permissions: ["update:users"] });
  const send = () => withJobs(t, () => admin.post(`/api/v1/users/${user.id}/password-reset`));
  for (let n = 0; n < 6; n++) assert.equal((await send()).status, 202);
  assert.equal(await count(), 16);
  const args = await sql`select from jobs where strpos(serialized_args, ${deviceToken}) > 0`;
  assert.equal(args.length, 0);
});

Deno.test("all network addresses together get 20 links, each at most five", async () => {
  const behind = await setup({ TRUSTED_PROXIES: "1" });
  try {
    const user = await person(behind);
    const request = (ip: string) =>
      withJobs(
        behind,
        () =>
          behind.nobody.post("/api/v1/auth/forgot-password", { email: user.email }, {
            "x-forwarded-for": ip,
          }),
      );
    for (let n = 0; n < 24; n++) await request(`203.0.113.${n % 6}`);
    assert.equal((await mailsTo(behind, user.email)).length, 20);
  } finally {
    await behind.stop();
  }
});

Deno.test("quiet hours of the owner do not hold up a reset link", async () => {
  const user = await person(t);
  await sql`insert into notification_preferences (user_id, time_zone_id, quiet_from, quiet_to)
    values (${user.id}, 'UTC', 0, 1439), (${crypto.randomUUID()}, 'UTC', 0, 1439)`;
  assert.notEqual(await tokenFor(user.email), "");
});

Deno.test("a password change invalidates unused links", async () => {
  const user = await person(t);
  const token = await tokenFor(user.email);
  const me = bearer(t, await signIn(t, user.email));
  assert.equal(
    (await me.post("/auth/change-password", { currentPassword: PASSWORD, newPassword: NEW })).status,
    204,
  );
  assert.equal((await reset(token)).body.code, "RESET_TOKEN_INVALID");
});

Deno.test("neither a tenant's staff nor an administrator can read the link in messages or jobs", async () => {
  const user = await person(t);
  const token = await tokenFor(user.email);
  const staff = await t.actor({ tenantId: user.tenantId, permissions: ["send:notifications"] });
  for (const reader of [staff, t.systemAdmin]) {
    for (const path of ["/api/v1/notifications", "/api/v1/jobs?pageSize=100"]) {
      const list = await reader.get(path);
      assert.ok(!JSON.stringify(list.body).includes(token));
      for (const { id } of list.body.items ?? []) {
        const one = await reader.get(`${path.split("?")[0]}/${id}`);
        assert.ok(!JSON.stringify(one.body).includes(token), path);
      }
    }
  }
  assert.ok(!t.logs.join("\n").includes(token));
});

Deno.test("a reset mail is sent even if its template lacks a variable, loses the link or is deleted", async () => {
  const templates = "/api/v1/notification-templates";
  const operator = await elsewhere.actor({ role: "SystemAdmin", global: true });
  const { items } = (await operator.get(`${templates}?pageSize=100`)).body;
  const shipped: { id: string; name: string }[] = items.filter((item: { slug: string }) =>
    item.slug === "password-reset"
  );
  assert.ok(shipped.length >= 2);
  const changeAll = async (change: Record<string, unknown>) => {
    for (const { id } of shipped) {
      const { status } = await operator.put(`${templates}/${id}`, { templateId: id, ...change });
      assert.equal(status, 200);
    }
  };
  const arrives = async () => {
    const user = await person(elsewhere);
    await forgot(user.email, elsewhere);
    const [mail] = await mailsTo(elsewhere, user.email);
    assert.match(mail?.textBody ?? "", /https:\/\/app\.example\.test\/reset\?t=[\w-]{43}/);
    return mail?.textBody ?? "";
  };
  const usual = (await arrives()).replace(/t=[\w-]{43}/, "");
  await changeAll({ requiredVariables: "resetUrl,firstname2" });
  assert.equal((await arrives()).replace(/t=[\w-]{43}/, ""), usual, "the default text is the shipped one");
  await changeAll({ requiredVariables: "", htmlBodyTemplate: "<p>{{resetURL}}</p>", textBodyTemplate: null });
  await arrives();
  await changeAll({ htmlBodyTemplate: "<p>{{resetUrl}}</p>" });
  await arrives();
  for (const { id } of shipped) assert.equal((await operator.delete(`${templates}/${id}`)).status, 200);
  await arrives();
  assert.ok(elsewhere.logs.some((line) => line.includes('"warn"') && line.includes("password-reset")));
});

Deno.test("RESET_URL can point to another page", async () => {
  const user = await person(elsewhere);
  await forgot(user.email, elsewhere);
  const [mail] = await mailsTo(elsewhere, user.email);
  assert.match(mail?.textBody ?? "", /https:\/\/app\.example\.test\/reset\?t=[\w-]{43}/);
});

Deno.test("the service's own page is in two languages, under a policy that allows only its script", async () => {
  const { status, body, headers } = await t.nobody.get("/auth/reset-password");
  assert.equal(status, 200);
  assert.match(headers.get("content-type") ?? "", /^text\/html/);
  assert.match(
    headers.get("content-security-policy") ?? "",
    /^default-src 'none'.*script-src 'sha256-[^']+'$/,
  );
  assert.equal(headers.get("referrer-policy"), "no-referrer");
  assert.equal(headers.get("vary")?.includes("accept-language"), true);
  assert.match(body, /<html lang="en">.*<form>/s);
  const portuguese = await fetch(`${t.url}/auth/reset-password`, { headers: { "accept-language": "pt" } });
  assert.match(await portuguese.text(), /<html lang="pt">.*Definir uma nova senha/s);
});

const browser = await openBrowser();
Deno.test.afterAll(() => browser?.close());

Deno.test({
  name: "the page of a link explains refusals in its language and sets the password (Chromium)",
  ignore: browser === null,
  async fn() {
    const user = await person(t);
    const token = await tokenFor(user.email);
    const page = await (await (browser ?? assert.fail()).newContext({ locale: "pt-PT" })).newPage();
    const submit = async (password: string, repeated = password) => {
      await page.getByLabel("Nova senha").fill(password);
      await page.getByLabel("Repita-a").fill(repeated);
      await page.getByRole("button").click();
    };
    await page.goto(`${t.url}/auth/reset-password`);
    await page.getByText("Este link está incompleto.").waitFor();
    assert.equal(await page.getByRole("button").count(), 0);
    await page.goto("about:blank");
    await page.goto(`${t.url}/auth/reset-password#token=${token}`);
    assert.ok(!page.url().includes(token));
    await submit(NEW, `${NEW}!`);
    await page.getByText("As duas senhas são diferentes.").waitFor();
    await submit("password1234");
    await page.getByText("Escolha outra senha").waitFor();
    await submit(NEW);
    await page.getByText("Pronto.").waitFor();
    assert.equal((await signIn(t, user.email, NEW)).status, 200);
    await page.goto("about:blank");
    await page.goto(`${t.url}/auth/reset-password#token=${token}`);
    await submit(NEW);
    await page.getByText("já foi usado ou expirou").waitFor();
  },
});

Deno.test("malformed bodies are rejected", async () => {
  for (const body of [{}, { email: 5 }, { email: "" }, { email: "x".repeat(321) }, { email: "a\0@b.c" }]) {
    assert.equal((await t.nobody.post("/auth/forgot-password", body)).status, 400);
  }
  for (const body of [{}, { token: "x" }, { token: "", newPassword: NEW }, { token: 1, newPassword: 2 }]) {
    assert.equal((await t.nobody.post("/auth/reset-password", body)).body.code, "VALIDATION_ERROR");
  }
});
