import assert from "node:assert/strict";
import { mailOwner, OWNER_MAILS, type OwnerMailKind } from "../../../domain/access/account/owner_mail.ts";
import { transact } from "../../../infra/postgres/postgres.ts";
import { accepted, outcome } from "../../support/outcomes.ts";
import { mailsTo, resetTokenFor, subjectsTo, withJobs } from "./mails.ts";
import { PASSWORD, type Person, person, setupChanged, signedIn } from "./people.ts";

// the texts of the service are changed at the end
const t = await setupChanged();
const { platform, sql } = t;
const NEW = "another good one";
const CHANGED = "Your password was changed";

const changePassword = (
  { me }: Pick<Awaited<ReturnType<typeof signedIn>>, "me">,
  to = NEW,
  from = PASSWORD,
) => me.post("/auth/change-password", { currentPassword: from, newPassword: to });
const send = ({ id }: Person, kind: OwnerMailKind) =>
  withJobs(t, () => transact(sql, (tx) => mailOwner(platform, tx, { userId: id, kind })));

Deno.test("the owner is told of a changed and of a reset password, in the language of the tenant", async () => {
  const user = await signedIn(t);
  await accepted(withJobs(t, () => changePassword(user)));
  const [mail] = await mailsTo(t, user.email);
  assert.equal(mail?.subject, CHANGED);
  assert.match(mail?.textBody ?? "", /^Hello Some,\n\nThe password of your account was changed.* UTC\)/);
  assert.match(mail?.textBody ?? "", /If this was not you/);
  assert.ok(!JSON.stringify(mail).includes(NEW));
  await sql`insert into notification_settings (tenant_id, default_locale) values (${user.tenantId}, 'pt')`;
  const reset = { token: await resetTokenFor(t, user.email), newPassword: "yet another good one" };
  await accepted(withJobs(t, () => t.nobody.post("/auth/reset-password", reset)));
  assert.equal((await subjectsTo(t, user.email))[0], OWNER_MAILS["password-reset"].pt.title);
});

Deno.test("a refused change sends nothing, and of concurrent changes only the successful one", async () => {
  const user = await signedIn(t);
  const attempts = [[NEW, "wrong"], ...[1, 2, 3].map((n) => [`${NEW} ${n}`])] as [string][];
  const change = () => Promise.all(attempts.map((attempt) => outcome(changePassword(user, ...attempt))));
  const answers = await withJobs(t, change);
  assert.equal(answers.filter((answer) => answer === "204").length, 1);
  assert.deepEqual(await subjectsTo(t, user.email), [CHANGED]);
});

Deno.test("nobody can read the mails as messages of a tenant, and a deleted user gets none", async () => {
  const user = await person(t);
  await send(user, "password-changed");
  const staff = await t.actor({ tenantId: user.tenantId, permissions: ["send:notifications"] });
  assert.equal((await accepted(staff.get("/api/v1/notifications"))).totalCount, 0);
  await sql`update users set deleted_at = now() where id = ${user.id}`;
  await send(user, "password-changed");
  assert.deepEqual(await subjectsTo(t, user.email), [CHANGED]);
});

/** Changes or, with null, deletes the shipped templates of a slug. */
async function changeTemplates(slug: string, change: Record<string, unknown> | null) {
  const operator = await t.actor({ role: "SystemAdmin", global: true });
  const path = "/api/v1/notification-templates";
  const { items } = await accepted(operator.get(`${path}?pageSize=100`));
  const shipped: { id: string }[] = items.filter((item: { slug: string }) => item.slug === slug);
  assert.equal(shipped.length, 2);
  for (const { id } of shipped) {
    const one = `${path}/${id}`;
    await accepted(change ? operator.put(one, { templateId: id, ...change }) : operator.delete(one));
  }
}

Deno.test("mails are sent even if their template lacks a variable, loses the link or is deleted", async () => {
  const arrives = async () => {
    const { email } = await person(t);
    await accepted(withJobs(t, () => t.nobody.post("/api/v1/auth/forgot-password", { email })));
    const [mail] = await mailsTo(t, email);
    assert.match(mail?.textBody ?? "", /https:\/\/app\.example\.test\/reset#token=[\w-]{43}/);
  };
  const link = { htmlBodyTemplate: "<p>{{resetURL}}</p>", textBodyTemplate: null };
  for (const change of [{ requiredVariables: "missing" }, { requiredVariables: "", ...link }, null]) {
    await changeTemplates("password-reset", change);
    await arrives();
  }
  assert.ok(t.logs.some((line) => line.includes('"warn"') && line.includes("password-reset")));
  await changeTemplates("account-change", null);
  const user = await signedIn(t);
  await accepted(withJobs(t, () => changePassword(user)));
  assert.deepEqual(await subjectsTo(t, user.email), [CHANGED]);
});
