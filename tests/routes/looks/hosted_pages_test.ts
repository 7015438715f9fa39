import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReportLink } from "../../../domain/reports/delivery/link.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { until } from "../../support/until.ts";
import { mailsTo, resetTokenFor, tokenOf } from "../auth/mails.ts";
import { PASSWORD, signedIn } from "../auth/people.ts";
import { authorizeUrl, makeClient, signedInBrowser } from "../oauth/flow.ts";
import { CSV, reached, setupSharedReports, STATUS } from "../reports/support.ts";
import { SERVICE_LOOKS, shownIn, tenantWithLooks } from "./hosted.ts";

const t = await setupSharedReports();
const { platform } = t.steward;
const { sql } = platform;
const yellow = await tenantWithLooks(t);
const UNSUBSCRIBE = "/api/v1/notifications/unsubscribe";
const policyOf = ({ headers }: Pick<HttpAnswer, "headers">) => headers.get("content-security-policy") ?? "";

Deno.test("the page of an unsubscribe link and its confirmation look like the tenant of the mail", async () => {
  const { userId } = await t.actor();
  const by = await t.actor();
  const { productName } = (await accepted(by.get("/api/v1/tenant-looks"))).effective;
  const plain = { tenantId: by.tenantId, looks: { ...SERVICE_LOOKS, productName } };
  for (const { tenantId, looks } of [yellow, plain]) {
    const token = await platform.unsubscribeTokens.sign({ userId, category: "news", tenantId }, new Date());
    const path = `${UNSUBSCRIBE}?token=${token}`;
    const expected = { ...looks, title: `Unsubscribe · ${looks.productName}` };
    const asked = await t.nobody.get(path);
    assert.deepEqual(shownIn(asked.body), expected);
    assert.match(policyOf(asked), /img-src 'self'.*form-action 'self'/);
    const done = await t.nobody.post(path);
    assert.match(done.body, /Done\. You get no more mail/);
    assert.deepEqual(shownIn(done.body), expected);
    const forged = await t.nobody.get(`${path.slice(0, -4)}AAAA`, { "accept-language": "pt" });
    assert.deepEqual(shownIn(forged.body), { ...SERVICE_LOOKS, title: "Cancelar a inscrição · Steward" });
  }
});

Deno.test("a mail's unsubscribe link names the tenant of the mail", async () => {
  const { by, tenantId, looks } = yellow;
  const reader = await t.actor({ tenantId });
  const slug = `t-${crypto.randomUUID().slice(0, 8)}`;
  const htmlBodyTemplate = `<a href="{{ unsubscribeUrl }}">stop</a>`;
  const texts = { slug, name: "T", subjectTemplate: "News", htmlBodyTemplate };
  await accepted(by.post("/api/v1/notification-templates", texts));
  const message = { channel: "Email", userIds: [reader.userId], category: "news", templateSlug: slug };
  await accepted(by.post("/api/v1/notifications/send", message));
  const [mail] = await until(() => mailsTo(t, reader.email), (mails) => mails.length > 0);
  const [link] = /\/api\/v1\/notifications\/unsubscribe\?token=[\w.-]+/.exec(mail?.htmlBody ?? "") ?? [];
  assert.equal(shownIn((await t.nobody.get(link ?? "")).body).logoUrl, looks.logoUrl);
});

Deno.test("the page of a report link looks like the tenant of the report, unless the link is unknown or expired", async () => {
  const pageOf = async (url: string) => {
    const response = await fetch(url, { headers: { accept: "text/html" }, redirect: "manual" });
    assert.match(policyOf(response), /img-src 'self'.*form-action 'none'/);
    return { status: response.status, ...shownIn(await response.text()) };
  };
  const title = (name: string) => `This report cannot be opened · ${name}`;
  const { tenantId, looks } = yellow;
  const actor = await t.actor({ tenantId });
  const { id } = await accepted(
    actor.post("/api/v1/reports/generate-async", { templateId: "cells", format: CSV }),
  );
  await reached(actor, id, STATUS.Completed);
  await sql`update files set status = 'Purged', purged_at = now(), purge_reason = 'test', final_key = null
    where id = (select stored_file_id from report_executions where id = ${id})`;
  const { url } = await createReportLink(platform, sql, id);
  assert.deepEqual(await pageOf(url), { status: 409, ...looks, title: title(looks.productName) });
  await sql`update report_links set expires_at = now() - interval '1 ms' where execution_id = ${id}`;
  for (const gone of [url, `${url}x`]) {
    assert.deepEqual(await pageOf(gone), { status: 404, ...SERVICE_LOOKS, title: title("Steward") });
  }
});

Deno.test("pages of mailed links have the service's own looks, because the service does not see the token", async () => {
  for (
    const path of ["/auth/reset-password", "/auth/invitation", "/auth/confirm-email", "/senders/confirm"]
  ) {
    const page = await t.nobody.get(path);
    const { title, ...looks } = shownIn(page.body);
    assert.match(title, /\w+ · Steward$/);
    assert.deepEqual(looks, SERVICE_LOOKS);
    assert.match(policyOf(page), /img-src 'self'.*connect-src 'self'.*'sha256-/);
  }
});

const RESET_INVALID = "400 RESET_TOKEN_INVALID";

/** Asks for the looks that the token of a link tells. */
const looksOf = (path: string, token: string) => t.nobody.post(`${path}/looks`, { token });

Deno.test("only the token of a reset link tells the looks of the tenant that its user signs in to", async () => {
  const path = "/auth/reset-password";
  const { userId, email } = await t.actor({ tenantId: yellow.tenantId });
  const token = await resetTokenFor(t, email);
  assert.deepEqual(await accepted(looksOf(path, token), 200), yellow.looks);
  await sql`update user_tenants set is_active = false where user_id = ${userId}`;
  assert.deepEqual(await accepted(looksOf(path, token)), SERVICE_LOOKS, "without a link");
  await sql`update users set is_active = false where id = ${userId}`;
  await refused(RESET_INVALID, looksOf(path, token));
  await sql`update users set is_active = true where id = ${userId}`;
  await accepted(t.nobody.post(path, { token, newPassword: "a quite new password" }), 204);
  await refused(RESET_INVALID, looksOf(path, token), looksOf(path, "x".repeat(43)));
});

Deno.test("only the token of a link to a new address of a user or a sender tells the looks of its tenant", async () => {
  const { by, tenantId, looks } = yellow;
  const { email, me } = await signedIn(t, { links: [tenantId] });
  const [newEmail, address] = [`new-${email}`, `${tenantId}@mailed.example`];
  const links: [path: string, used: string, address: string, ask: () => Promise<HttpAnswer>][] = [
    [
      "/auth/confirm-email",
      "400 EMAIL_TOKEN_INVALID",
      newEmail,
      () => me.post("/api/v1/auth/change-email", { newEmail, password: PASSWORD }),
    ],
    [
      "/senders/confirm",
      "400 NOTIFICATION_SENDER_TOKEN_INVALID",
      address,
      () => by.post("/api/v1/notification-senders", { address, method: "Mail" }),
    ],
  ];
  for (const [path, used, mailed, ask] of links) {
    const token = await tokenOf(t, mailed, ask);
    assert.deepEqual(await accepted(looksOf(path, token), 200), looks);
    await accepted(t.nobody.post(path, { token }), 204);
    await refused(used, looksOf(path, token));
  }
});

Deno.test("sign-in and consent pages for a client have the looks of the wanted tenant, with a style that their policy allows", async () => {
  const { tenantId, looks } = await tenantWithLooks(t, { productName: "Northwind" });
  const client = await makeClient(t.systemAdmin, { firstParty: false });
  const signInPage = (more?: Record<string, string>) => {
    const to = more ? `../oauth/authorize${authorizeUrl(t, client, more).search}` : "";
    return t.nobody.get(`/console/sign-in?to=${encodeURIComponent(to)}`);
  };
  const page = await signInPage({ tenant: tenantId });
  assert.match(page.body, /<title>[^<]* · Northwind<\/title>/);
  assert.ok(page.body.includes(`src="${looks.logoUrl?.replace("&", "&amp;")}"`));
  assert.match(page.body, /<footer class="bare-footer">Rua &lt;1&gt;\nLisboa<\/footer>/);
  const style = /<style>(.*?)<\/style>/s.exec(page.body)?.[1] ?? "";
  assert.match(style, /background:#ffdd00;border-color:#ffdd00;color:#000000/);
  const hash = createHash("sha256").update(style).digest("base64");
  assert.ok(policyOf(page).includes(`style-src 'self' 'sha256-${hash}'`));
  const ofService: (Record<string, string> | undefined)[] = [
    undefined,
    {},
    { tenant: crypto.randomUUID() },
    { tenant: tenantId, client_id: "unknown" },
    { tenant: tenantId, redirect_uri: "https://attacker.test/" },
  ];
  for (const more of ofService) {
    const { body } = await signInPage(more);
    assert.match(body, /<title>[^<]* · Steward<\/title>/);
    assert.doesNotMatch(body, /Northwind|ffdd00|bare-footer/);
    assert.match(body, /background:#1f4fd8/);
  }
  for (const [link, name] of [[tenantId, "Northwind"], [await t.tenant(), "Tenant"]] as const) {
    const { browser } = await signedInBrowser(t, { links: [link] });
    const { html } = await browser.show(authorizeUrl(t, client));
    assert.match(html, /<button type="submit" class="button primary" name="decision" value="allowed">/);
    assert.equal(/<title>[^<]* · (\w+)[^<]*<\/title>/.exec(html)?.[1], name);
  }
});
