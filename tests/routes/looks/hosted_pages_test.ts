import assert from "node:assert/strict";
import { signUnsubscribe } from "../../../domain/notifications/unsubscribe_token.ts";
import { createReportLink } from "../../../domain/reports/delivery/link.ts";
import { until } from "../../support/until.ts";
import { mailsTo, withJobs } from "../auth/mails.ts";
import { bearer, PASSWORD, person, signIn } from "../auth/people.ts";
import { CSV, reached, setupReports, STATUS } from "../reports/support.ts";
import { plainTenant, SERVICE_LOOKS, shownIn, tenantWithLooks } from "./hosted.ts";

const t = await setupReports();
Deno.test.afterAll(() => t.stop());
const { platform } = t.steward;
const { sql } = platform;
const tenants = [
  await tenantWithLooks(t),
  await tenantWithLooks(t, { productName: "Southwind", primaryColour: "#004400" }),
  await plainTenant(t),
];

/** The token of the link mailed to an address. */
const tokenFor = (address: string) =>
  until(
    async () => {
      const [newest] = await mailsTo(t, address);
      return /#token=([\w-]{43})/.exec(newest?.textBody ?? "")?.[1];
    },
    Boolean,
    { what: `a link for ${address}` },
  );

Deno.test("the page of an unsubscribe link and its confirmation look like the tenant of the mail", async () => {
  const path = "/api/v1/notifications/unsubscribe";
  const { userId } = await t.actor();
  for (const { tenantId, looks } of tenants) {
    const token = await signUnsubscribe(sql, { userId, category: "news", tenantId }, new Date());
    const expected = { ...looks, title: `Unsubscribe · ${looks.productName}` };
    const asked = await t.nobody.get(`${path}?token=${token}`);
    assert.deepEqual(shownIn(asked.body), expected);
    assert.match(asked.headers.get("content-security-policy") ?? "", /img-src 'self'.*form-action 'self'/);
    const done = await t.nobody.post(`${path}?token=${token}`);
    assert.match(done.body, /Done\. You get no more mail/);
    assert.deepEqual(shownIn(done.body), expected);
    const forged = await t.nobody.get(`${path}?token=${token.slice(0, -4)}AAAA`, { "accept-language": "pt" });
    assert.deepEqual(shownIn(forged.body), {
      ...SERVICE_LOOKS,
      title: "Cancelar a inscrição · Steward",
    });
  }
});

Deno.test("an unsubscribe link of the previous version, without a tenant, looks like the service", async () => {
  const { userId } = await t.actor();
  const [row] = await sql<{ secret: Uint8Array<ArrayBuffer> }[]>`select secret from notification_link_key`;
  const payload = Buffer.from(JSON.stringify([userId, "news", 4_000_000_000])).toString("base64url");
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", row!.secret, algorithm, false, ["sign"]);
  const signed = await crypto.subtle.sign(
    "HMAC",
    key,
    new TextEncoder().encode(`steward unsubscribe 1.${payload}`),
  );
  const token = `${payload}.${Buffer.from(signed).toString("base64url")}`;
  const page = await t.nobody.get(`/api/v1/notifications/unsubscribe?token=${token}`);
  assert.match(page.body, /<form method="post">/);
  assert.equal(shownIn(page.body).productName, "Steward");
});

Deno.test("a mail's unsubscribe link names the tenant of the mail", async () => {
  const [{ by, tenantId, looks }] = tenants as [typeof tenants[number]];
  const reader = await t.actor({ tenantId });
  const slug = `t-${crypto.randomUUID().slice(0, 8)}`;
  await by.post("/api/v1/notification-templates", {
    slug,
    name: "T",
    subjectTemplate: "News",
    htmlBodyTemplate: `<a href="{{ unsubscribeUrl }}">stop</a>`,
  });
  await by.post("/api/v1/notifications/send", {
    channel: "Email",
    userIds: [reader.userId],
    category: "news",
    templateSlug: slug,
  });
  const [mail] = await until(() => mailsTo(t, reader.email), (mails) => mails.length > 0);
  const [link] = /\/api\/v1\/notifications\/unsubscribe\?token=[\w.-]+/.exec(mail?.htmlBody ?? "") ?? [];
  assert.deepEqual(shownIn((await t.nobody.get(link ?? "")).body).logoUrl, looks.logoUrl);
});

Deno.test("the page of a report link looks like the tenant of the report, unless the link is unknown or expired", async () => {
  const pageOf = async (url: string) => {
    const response = await fetch(url, { headers: { accept: "text/html" }, redirect: "manual" });
    assert.match(response.headers.get("content-security-policy") ?? "", /img-src 'self'.*form-action 'none'/);
    return { status: response.status, ...shownIn(await response.text()) };
  };
  const title = (name: string) => `This report cannot be opened · ${name}`;
  for (const { tenantId, looks } of tenants) {
    const actor = await t.actor({ tenantId });
    const { body } = await actor.post("/api/v1/reports/generate-async", { templateId: "cells", format: CSV });
    await reached(actor, body.id, STATUS.Completed);
    await sql`update files set status = 'Purged', purged_at = now(), purge_reason = 'test', final_key = null
      where id = (select stored_file_id from report_executions where id = ${body.id})`;
    const { url } = await createReportLink(platform, sql, body.id);
    assert.deepEqual(await pageOf(url), { status: 409, ...looks, title: title(looks.productName) });
    await sql`update report_links set expires_at = now() where execution_id = ${body.id}`;
    const own = { status: 404, ...SERVICE_LOOKS, title: title("Steward") };
    assert.deepEqual(await pageOf(url), own);
    assert.deepEqual(await pageOf(`${url}x`), own);
  }
});

Deno.test("pages of mailed links have the service's own looks, because the service does not see the token", async () => {
  for (
    const path of ["/auth/reset-password", "/auth/invitation", "/auth/confirm-email", "/senders/confirm"]
  ) {
    const { body, headers } = await t.nobody.get(path);
    const { title, ...looks } = shownIn(body);
    assert.match(title, /\w+ · Steward$/);
    assert.deepEqual(looks, SERVICE_LOOKS);
    assert.match(
      headers.get("content-security-policy") ?? "",
      /img-src 'self'.*connect-src 'self'.*'sha256-/,
    );
  }
});

Deno.test("only the token of a reset link tells the looks of the tenant that its user signs in to", async () => {
  const path = "/auth/reset-password/looks";
  for (const { tenantId, looks } of tenants) {
    const user = await t.actor({ tenantId });
    await withJobs(t, () => t.nobody.post("/api/v1/auth/forgot-password", { email: user.email }));
    const token = await tokenFor(user.email);
    const answer = await t.nobody.post(path, { token });
    assert.deepEqual([answer.status, answer.body], [200, looks]);
    await sql`update user_tenants set is_active = false where user_id = ${user.userId}`;
    assert.deepEqual((await t.nobody.post(path, { token })).body, SERVICE_LOOKS, "without a link");
    await sql`update users set is_active = false where id = ${user.userId}`;
    assert.equal((await t.nobody.post(path, { token })).body.code, "RESET_TOKEN_INVALID");
    await sql`update users set is_active = true where id = ${user.userId}`;
    const set = { token, newPassword: "a quite new password" };
    assert.equal((await t.nobody.post("/auth/reset-password", set)).status, 204);
    const used = await t.nobody.post(path, { token });
    assert.deepEqual([used.status, used.body.code], [400, "RESET_TOKEN_INVALID"]);
  }
  const forged = await t.nobody.post(path, { token: "x".repeat(43) });
  assert.deepEqual([forged.status, forged.body.code], [400, "RESET_TOKEN_INVALID"]);
});

Deno.test("only the token of a link to a new email tells the looks of the tenant that its user signs in to", async () => {
  const path = "/auth/confirm-email/looks";
  for (const { tenantId, looks } of tenants) {
    const { id, email } = await person(t, { links: [tenantId] });
    const user = bearer(t, await signIn(t, email));
    const newEmail = `new-${email}`;
    await withJobs(t, () => user.post("/api/v1/auth/change-email", { newEmail, password: PASSWORD }));
    const token = await tokenFor(newEmail);
    const answer = await t.nobody.post(path, { token });
    assert.deepEqual([answer.status, answer.body], [200, looks], id);
    assert.equal((await t.nobody.post("/auth/confirm-email", { token })).status, 204);
    const used = await t.nobody.post(path, { token });
    assert.deepEqual([used.status, used.body.code], [400, "EMAIL_TOKEN_INVALID"]);
  }
});

Deno.test("only the token of a sender's link tells the looks of the tenant that asks", async () => {
  const path = "/senders/confirm/looks";
  for (const [index, { by, looks }] of tenants.entries()) {
    const address = `clerk${index}@mailed.example`;
    const sender = await by.post("/api/v1/notification-senders", { address, method: "Mail" });
    assert.equal(sender.status, 201);
    const token = await tokenFor(address);
    const answer = await t.nobody.post(path, { token });
    assert.deepEqual([answer.status, answer.body], [200, looks]);
    assert.equal((await t.nobody.post("/senders/confirm", { token })).status, 204);
    const used = await t.nobody.post(path, { token });
    assert.deepEqual([used.status, used.body.code], [400, "NOTIFICATION_SENDER_TOKEN_INVALID"]);
  }
});

Deno.test("the offer of an invitation has the looks of its tenant", async () => {
  for (const { tenantId, looks } of tenants) {
    const admin = await t.actor({ tenantId, permissions: ["create:users", "update:roles", "read:users"] });
    const email = `${crypto.randomUUID()}@example.test`;
    const invited = await admin.post("/api/v1/users/invite", {
      email,
      roleIds: [admin.roleId],
      firstName: "Eva",
    });
    assert.equal(invited.status, 201, JSON.stringify(invited.body));
    const { body } = await t.nobody.post("/auth/invitations/read", { token: await tokenFor(email) });
    assert.deepEqual([body.email, body.looks, body.tenantId], [email, looks, undefined]);
  }
});
