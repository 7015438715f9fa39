import assert from "node:assert/strict";
import { pngImage } from "../../support/images.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());

const mailFor = (recipient: string) =>
  until(
    async () => (await t.steward.platform.outbox?.list())?.find(({ to }) => to.includes(recipient)),
    Boolean,
    { what: `a mail for ${recipient}` },
  );

async function tenantWithLooks() {
  const by = await t.actor({ permissions: ["manage:settings", "send:notifications"] });
  await by.put("/api/v1/tenant-looks", {
    productName: `Wind & <b>Co</b>`,
    primaryColour: "#ffdd00",
    footer: "Rua Nova 1 <Lisboa>\nPortugal",
  });
  const logo = await by.put("/api/v1/tenant-looks/logo", pngImage(400, 100), { "content-type": "image/png" });
  return { by, logoUrl: logo.body.logo.url as string };
}

async function sendTemplate(by: Actor, texts: Record<string, string>, recipient: string) {
  const slug = `t-${crypto.randomUUID().slice(0, 8)}`;
  const made = await by.post("/api/v1/notification-templates", {
    slug,
    name: "T",
    subjectTemplate: "Hello & welcome",
    ...texts,
  });
  assert.equal(made.status, 201);
  await by.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: recipient }],
    templateSlug: slug,
    templateData: { url: "https://shop.example/?a=1&b=2" },
  });
  return (await mailFor(recipient))!;
}

Deno.test("mails of templates stand in the default layout with logo, colours and footer of the tenant", async () => {
  const { by, logoUrl } = await tenantWithLooks();
  const { htmlBody, textBody } = await sendTemplate(by, {
    htmlBodyTemplate:
      `<p>Hi</p><a class="button" href="{{ url }}">Open</a> <a class="link" href="{{ url }}">x</a>`,
  }, "layout@example.test");
  const html = htmlBody ?? "";
  assert.match(html, /^<!doctype html>\n<html lang="en">/);
  assert.match(html, /<title>Hello &amp; welcome<\/title>/);
  assert.ok(
    html.includes(
      `<img class="logo" src="${logoUrl}" alt="Wind &amp; &lt;b&gt;Co&lt;/b&gt;" width="200" height="50"`,
    ),
  );
  assert.match(
    html,
    /<a class="button" style="[^"]*background:#ffdd00;color:#000000;[^"]*" href="https:\/\/shop\.example\/\?a&#x3D;1&amp;b&#x3D;2">/,
  );
  assert.match(html, /<a class="link" style="color:#1c2430"/, "yellow text on white could not be read");
  assert.ok(html.includes("Rua Nova 1 &lt;Lisboa&gt;<br>Portugal"));
  assert.match(textBody ?? "", /^Hi[^]*\n\nRua Nova 1 <Lisboa>\nPortugal$/);
});

Deno.test("without a logo the mail has the product name, and without looks that of the service", async () => {
  const by = await t.actor({ permissions: ["manage:settings", "send:notifications"] });
  const { htmlBody } = await sendTemplate(by, { htmlBodyTemplate: "<p>Hi</p>" }, "plain@example.test");
  assert.match(htmlBody ?? "", /<span class="name">Steward<\/span>/);
  assert.doesNotMatch(htmlBody ?? "", /<img/);
});

Deno.test("a template that brings a whole document is sent as it is", async () => {
  const { by } = await tenantWithLooks();
  const documents = ["<!DOCTYPE html><p>Own</p>", "<!-- by us -->\n<html><body>Own</body></html>"];
  for (const [index, htmlBodyTemplate] of documents.entries()) {
    const mail = await sendTemplate(by, { htmlBodyTemplate }, `whole${index}@example.test`);
    assert.equal(mail.htmlBody, htmlBodyTemplate);
  }
  await by.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "own-body@example.test" }],
    subject: "Own",
    htmlBody: "<p>Own</p>",
  });
  assert.equal((await mailFor("own-body@example.test"))?.htmlBody, "<p>Own</p>", "a message's own HTML too");
});

Deno.test("many comments before the HTML do not block the service", async () => {
  const { by } = await tenantWithLooks();
  const comments = "<!---->".repeat(10_000);
  const shownOf = async (htmlBodyTemplate: string) => {
    const answer = await by.post("/api/v1/notification-templates/preview", { htmlBodyTemplate });
    return answer.body.documentHtml as string;
  };
  assert.match(await shownOf(`${comments}<p>Part</p>`), /^<!doctype html>/);
  assert.match(await shownOf(`${comments}<!-- open <html>`), /^<!doctype html>/);
  assert.equal(await shownOf(`${comments}\n<HTML>Whole`), `${comments}\n<HTML>Whole`);
});

Deno.test("the shipped mails show the tenant's looks", async () => {
  const { by, logoUrl } = await tenantWithLooks();
  const admin = await t.actor({ tenantId: by.tenantId ?? "", role: "Admin" });
  const [role] = (await admin.get("/api/v1/roles?search=Visitor")).body.items;
  const invited = await admin.post("/api/v1/users/invite", { email: "new@example.test", roleIds: [role.id] });
  assert.equal(invited.status, 201, JSON.stringify(invited.body));
  const { htmlBody } = (await mailFor("new@example.test"))!;
  assert.ok(htmlBody?.includes(logoUrl));
  assert.match(htmlBody ?? "", /<p><a class="button" style="[^"]*background:#ffdd00[^"]*" href="[^"]*#token/);
  assert.equal(htmlBody?.match(/<html/g)?.length, 1);
});
