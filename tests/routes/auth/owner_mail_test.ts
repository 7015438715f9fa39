import assert from "node:assert/strict";
import { mailOwner } from "../../../domain/access/account/owner_mail.ts";
import { OWNER_MAILS, type OwnerMailKind } from "../../../domain/access/account/owner_mail_texts.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { setup, setupShared } from "../../support/setup.ts";
import { mailsTo, withJobs } from "./mails.ts";
import { bearer, forgetFailures, PASSWORD, type Person, person, signIn } from "./people.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
Deno.test.beforeEach(() => forgetFailures(t));
const { platform } = t.steward;
const { sql } = platform;
const NEW = "another good one";

const subjectsTo = async ({ email }: Person) => (await mailsTo(t, email)).map(({ subject }) => subject);

Deno.test("the owner is told of a changed and of a reset password", async () => {
  const user = await person(t);
  const me = bearer(t, await signIn(t, user.email));
  const change = { currentPassword: PASSWORD, newPassword: NEW };
  assert.equal((await withJobs(t, () => me.post("/auth/change-password", change))).status, 204);
  const [changed] = await mailsTo(t, user.email);
  assert.equal(changed?.subject, "Your password was changed");
  assert.match(changed?.textBody ?? "", /^Hello Some,\n\nThe password of your account was changed.* UTC\)/);
  assert.match(changed?.textBody ?? "", /If this was not you/);
  assert.ok(!JSON.stringify(changed).includes(NEW));
  await withJobs(t, () => t.nobody.post("/auth/forgot-password", { email: user.email }));
  const [link] = await mailsTo(t, user.email);
  const token = /#token=([\w-]{43})/.exec(link?.textBody ?? "")?.[1];
  const reset = { token, newPassword: "yet another good one" };
  assert.equal((await withJobs(t, () => t.nobody.post("/auth/reset-password", reset))).status, 204);
  assert.equal((await subjectsTo(user))[0], "Your password was reset");
});

Deno.test("a refused change sends nothing, and of concurrent changes only the successful one", async () => {
  const user = await person(t);
  const me = bearer(t, await signIn(t, user.email));
  const change = (currentPassword: string, newPassword: string) =>
    me.post("/auth/change-password", { currentPassword, newPassword });
  await withJobs(t, async () => {
    assert.equal((await change("wrong", NEW)).status, 400);
    assert.equal((await change(PASSWORD, "password1234")).status, 400);
  });
  assert.deepEqual(await subjectsTo(user), []);
  const answers = await withJobs(
    t,
    () => Promise.all(Array.from({ length: 3 }, (_, n) => change(PASSWORD, `${NEW} ${n}`))),
  );
  assert.equal(answers.filter(({ status }) => status === 204).length, 1);
  assert.deepEqual(await subjectsTo(user), ["Your password was changed"]);
});

Deno.test("each kind of mail has a title and a text in both languages", async () => {
  const user = await person(t);
  const send = (kind: OwnerMailKind) =>
    withJobs(t, () => transact(sql, (tx) => mailOwner(platform, tx, { userId: user.id, kind })));
  const kinds = Object.keys(OWNER_MAILS) as OwnerMailKind[];
  for (const kind of kinds) await send(kind);
  await sql`insert into notification_settings (tenant_id, default_locale) values (${user.tenantId}, 'pt')`;
  for (const kind of kinds) await send(kind);
  const expected = (["pt", "en"] as const).flatMap((language) =>
    kinds.toReversed().map((kind) => OWNER_MAILS[kind][language].title)
  );
  assert.deepEqual(await subjectsTo(user), expected);
});

Deno.test("a broken or deleted template does not prevent the change, and the owner still gets a mail", async () => {
  const broken = await setup();
  try {
    const operator = await broken.actor({ role: "SystemAdmin", global: true });
    const templates = "/api/v1/notification-templates";
    const { items } = (await operator.get(`${templates}?pageSize=100`)).body;
    const shipped: { id: string }[] = items.filter(({ slug }: { slug: string }) => slug === "account-change");
    assert.equal(shipped.length, 2);
    const changeOnce = async () => {
      const user = await person(broken);
      const me = bearer(broken, await signIn(broken, user.email));
      const change = { currentPassword: PASSWORD, newPassword: NEW };
      assert.equal((await withJobs(broken, () => me.post("/auth/change-password", change))).status, 204);
      return (await mailsTo(broken, user.email)).map(({ subject }) => subject);
    };
    for (const { id } of shipped) {
      const change = { templateId: id, requiredVariables: "title,text,missing" };
      assert.equal((await operator.put(`${templates}/${id}`, change)).status, 200);
    }
    assert.deepEqual(await changeOnce(), ["Your password was changed"]);
    for (const { id } of shipped) assert.equal((await operator.delete(`${templates}/${id}`)).status, 200);
    assert.deepEqual(await changeOnce(), ["Your password was changed"]);
  } finally {
    await broken.stop();
  }
});

Deno.test("nobody can read the mails as messages of a tenant, and a deleted user gets none", async () => {
  const user = await person(t);
  const me = bearer(t, await signIn(t, user.email));
  await withJobs(t, () => me.post("/auth/change-password", { currentPassword: PASSWORD, newPassword: NEW }));
  const staff = await t.actor({ tenantId: user.tenantId, permissions: ["send:notifications"] });
  assert.equal((await staff.get("/api/v1/notifications")).body.totalCount, 0);
  await sql`update users set deleted_at = now() where id = ${user.id}`;
  const mail = { userId: user.id, kind: "password-changed" } as const;
  await withJobs(t, () => transact(sql, (tx) => mailOwner(platform, tx, mail)));
  assert.equal((await subjectsTo(user)).length, 1);
});
