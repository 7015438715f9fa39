import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { tenantWithLooks } from "./hosted.ts";

const t = await setupShared();
const TEMPLATES = "/api/v1/notification-templates";

async function mailFor(recipient: string) {
  const find = async () =>
    (await t.steward.platform.outbox?.list())?.find(({ to }) => to.includes(recipient));
  const mail = await until(find, Boolean, { what: `a mail for ${recipient}` });
  return { htmlBody: mail?.htmlBody ?? "", textBody: mail?.textBody ?? "" };
}

/** Sends a message and returns the mail. */
async function send(by: Actor, message: Record<string, unknown>) {
  const address = `${crypto.randomUUID()}@example.test`;
  const sent = { channel: "Email", recipients: [{ address }], ...message };
  await accepted(by.post("/api/v1/notifications/send", sent));
  return await mailFor(address);
}

/** Sends a mail of a new template with this HTML. */
async function sendTemplate(by: Actor, htmlBodyTemplate: string) {
  const templateSlug = `t-${crypto.randomUUID().slice(0, 8)}`;
  const texts = { slug: templateSlug, name: "T", subjectTemplate: "Hello & welcome", htmlBodyTemplate };
  await accepted(by.post(TEMPLATES, texts), 201);
  return await send(by, { templateSlug, templateData: { url: "https://shop.example/?a=1&b=2" } });
}

Deno.test("mails of templates stand in the default layout with logo, colours and footer of the tenant", async () => {
  const { by, looks } = await tenantWithLooks(t);
  const html =
    `<p>Hi</p><a class="button" href="{{ url }}">Open</a> <a href="{{ url }}">x</a><a style="color:red" href="/y">y</a>`;
  const { htmlBody, textBody } = await sendTemplate(by, html);
  assert.match(htmlBody, /^<!doctype html>\n<html lang="en">/);
  assert.match(htmlBody, /<title>Hello &amp; welcome<\/title>/);
  const name = "Wind &amp; &lt;b&gt;Co&lt;/b&gt;";
  const logo = `<img class="logo" src="${t.url}${looks.logoUrl}" alt="${name}" width="200" height="50"`;
  assert.ok(htmlBody.includes(logo));
  assert.match(
    htmlBody,
    /<a class="button" style="[^"]*background:#ffdd00;color:#000000;[^"]*" href="https:\/\/shop\.example\/\?a&#x3D;1&amp;b&#x3D;2">/,
  );
  assert.match(htmlBody, /<a class="link" style="color:#806f00" href="/, "a shade that can be read on white");
  assert.ok(htmlBody.includes('<a style="color:red" href="/y">'), "the template's own style stays");
  assert.ok(htmlBody.includes("Rua &lt;1&gt;<br>Lisboa"));
  assert.match(textBody, /^Hi[^]*\n\nRua <1>\nLisboa$/);
});

Deno.test("without a logo the mail has the product name, and without looks the name of the tenant", async () => {
  const by = await t.actor({ permissions: ["send:notifications"] });
  const { htmlBody } = await sendTemplate(by, "<p>Hi</p>");
  assert.match(htmlBody, /<span class="name">Tenant [\da-f-]{36}<\/span>/);
  assert.doesNotMatch(htmlBody, /<img/);
});

Deno.test("a template that brings a whole document is sent as it is, and so is a message's own HTML", async () => {
  const { by } = await tenantWithLooks(t);
  for (const html of ["<!DOCTYPE html><p>Own</p>", "<!-- by us -->\n<html><body>Own</body></html>"]) {
    assert.equal((await sendTemplate(by, html)).htmlBody, html);
  }
  const htmlBody = "<p>Own</p>";
  assert.equal((await send(by, { subject: "Own", htmlBody })).htmlBody, htmlBody);
});

Deno.test("many comments before the HTML do not hide what it is", async () => {
  const { by } = await tenantWithLooks(t);
  const comments = "<!---->".repeat(10_000);
  const shownOf = async (htmlBodyTemplate: string): Promise<string> =>
    (await accepted(by.post(`${TEMPLATES}/preview`, { htmlBodyTemplate }))).documentHtml;
  for (const part of ["<p>Part</p>", "<!-- open <html>"]) {
    assert.match(await shownOf(comments + part), /^<!doctype html>/);
  }
  assert.equal(await shownOf(`${comments}\n<HTML>Whole`), `${comments}\n<HTML>Whole`);
});
