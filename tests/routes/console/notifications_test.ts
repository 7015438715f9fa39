import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { browse, browseAt } from "./plain_browser.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const sender = await t.actor({ permissions: ["send:notifications", "read:users"] });
const HOSTILE = `<h2 id="said">Olá Zoë</h2><script>parent.document.title = "taken"</script>` +
  `<img src="https://evil.test/x.png" onerror="parent.document.title='taken'"><p style="color:red">red</p>`;

Deno.test("an email is sent from the form; its page shows delivery and content, and its HTML runs nothing", async () => {
  const browser = await browseAt(t, sender, "notifications/send");
  const { html: people } = await browser.open(`notifications/people?person=${sender.email}`);
  const [, user = ""] = /name="userIds" value="([^"]*)"/.exec(people) ?? [];
  assert.match(user, new RegExp(sender.email));
  const mail = {
    Addresses: "Zoë Åström <zoe@example.com>\nnot an address",
    Subject: "<b>Hello</b> {{ you }}",
    "HTML body": HOSTILE,
  };
  assert.match((await browser.preview(mail)).html, /Olá Zoë/);
  const chosen: [string, string] = [
    "userIds",
    user.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">"),
  ];
  const refused = await browser.press("Send", mail, undefined, [chosen]);
  refused.shows("recipients.1.address");
  assert.equal(refused.value("Subject"), mail.Subject, "what was typed is kept");
  await browser.press("Send", { Addresses: "Zoë Åström <zoe@example.com>" });
  assert.equal(browser.page.heading, "<b>Hello</b> {{ you }}");
  (await browser.waitFor("Attempt 1: accepted")).shows("zoe@example.com", sender.email);
  const { html, headers } = await browser.open(`${browser.page.address}/body`);
  assert.match(
    headers.get("content-security-policy") ?? "",
    /^sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:;/,
  );
  assert.match(html, /<h2 id="said">Olá Zoë<\/h2>/);
  const frames = browser.page.all("iframe", ({ attribs }) => "sandbox" in attribs);
  assert.ok(frames.length > 0 && frames.every(({ attribs }) => !/allow-scripts/.test(attribs.sandbox ?? "")));
});

Deno.test("a message shows attachments, copies, reports and suppressed recipients", async () => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const answer = await actor.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "first@example.com" }],
    cc: [{ address: "copy@example.com" }],
    bcc: [{ address: "gone@example.com" }],
    replyTo: "answers@example.com",
    subject: "With reports",
    textBody: "x",
  });
  const id = answer.body.notificationId;
  await t.settled(
    (await sql<{ jobId: string }[]>`select job_id from notifications where id = ${id}`)[0]?.jobId ?? "",
  );
  await sql`insert into notification_attachments (notification_id, position, file_id, file_name, content_type)
    values (${id}, 1, ${crypto.randomUUID()}, 'terms.pdf', 'application/pdf')`;
  await sql`update notifications set status = 'DeadLettered', delivery_state = 'Bounced' where id = ${id}`;
  await sql`update notification_recipients set delivery_state = 'Bounced', delivery_detail = '550 unknown',
    delivery_state_at = now() where notification_id = ${id} and address = 'first@example.com'`;
  await sql`update notification_recipients set status = 'Skipped', reason = 'Suppressed', sent_at = null
    where notification_id = ${id} and kind = 'bcc'`;
  const browser = await browse(t, actor);
  const page = await browser.visit(`notifications/${id}`);
  page.shows("terms.pdf", "answers@example.com", "(copy)", "(blind copy)", "550 unknown");
  assert.equal(page.text.match(/\bBounced\b/g)?.length, 2, "the message and its recipient");
  const gone = { address: "Gone@example.com", reason: "HardBounce", detail: "550 gone" };
  await actor.post("/api/v1/notification-suppressions", { channel: "Email", ...gone });
  (await browser.visit(`notifications/${id}`)).shows(
    /gone@example\.com is suppressed since .* because of a bounce: it is skipped/,
    "550 gone",
  );
  const again = browser.page.pressable("button", "Send again");
  assert.match(
    (again.parent as typeof again).attribs["data-confirm"] ?? "",
    /1 delivery attempt\. gone@example\.com is suppressed since/,
  );
  await sql`update notifications set body_expired_at = now(), text_body = null where id = ${id}`;
  const expired = await browser.visit(`notifications/${id}`);
  assert.ok(!expired.shows("The content was deleted").offers.includes("Send again"));
  await browser.begin("Messages");
  (await browser.press("Filter", { Recipient: "FIRST@" })).shows("first@example.com and 2 more");
  (await browser.follow("With reports")).shows("550 unknown");
});

Deno.test("a message is scheduled in the viewer's time zone, and a failed one is sent again", async () => {
  const browser = await browse(t, sender);
  (await browser.visit("notifications/send")).shows("Time zone: Europe/Lisbon");
  await browser.press("Send", {
    Channel: "Sms",
    Addresses: "+351912345678",
    "Text body": "Olá",
    "Send at": "2999-07-01T09:30",
  });
  const id = browser.page.shows("The message was scheduled.").address.split("/").at(-1) ?? "";
  const { body } = await sender.get(`/api/v1/notifications/${id}`);
  assert.equal(body.scheduledAt, "2999-07-01T08:30:00.000Z");
  (await browser.press("Cancel message")).shows("The message was cancelled.");
  await sql`update notifications set status = 'DeadLettered', last_error = '<b>550</b> no' where id = ${id}`;
  const failed = await browser.visit(`notifications/${id}`);
  failed.shows("<b>550</b> no").lacks("Pending", "not yet"); // nothing more comes by itself
  assert.match(failed.rows.find((row) => row.includes("351912345678")) ?? "", /Not delivered/);
  (await browser.press("Send again")).shows("The message was queued again");
  await browser.waitFor("Attempt 1: accepted");
});

Deno.test("an address is suppressed once, found, and removed again", async () => {
  const browser = await browseAt(t, await t.actor({ permissions: ["send:notifications"] }), "suppressions");
  await browser.press("Suppress", { address: "dead@example.com" });
  browser.page.shows("The address was suppressed.");
  await browser.press("Suppress", { address: "Dead@example.com" });
  browser.page.shows("NOTIFICATION_SUPPRESSION_ALREADY_EXISTS");
  await browser.visit("suppressions?search=dead");
  (await browser.press("Remove")).shows("Messages are sent to it again.");
});

Deno.test("every user sets their notification preferences, and a concurrent change is refused", async () => {
  const visitor = await t.actor({ role: "Visitor" });
  const browser = await browseAt(t, visitor, "account", "pt-PT");
  await browser.follow("Escolher as notificações que recebe");
  await browser.press("Salvar", {
    "Nova categoria": "Promoções",
    "Nova categoria: E-mail": false,
    "Usar horas de silêncio": true,
    "Fuso horário": "Europe/Lisbon",
    "Receber um resumo diário": true,
  });
  browser.page.shows("Suas preferências foram salvas.");
  assert.equal(browser.page.value("promoções: E-mail"), false);
  const path = `/api/v1/user-notifications/preferences?userId=${visitor.userId}`;
  const { body } = await visitor.get(path);
  assert.deepEqual(body.quietHours, { from: "22:00", to: "08:00" });
  assert.deepEqual([body.timeZoneId, body.digest.isEnabled], ["Europe/Lisbon", true]);
  assert.equal((await visitor.put(path, { timeZoneId: "UTC" })).status, 200);
  (await browser.press("Salvar")).shows("PRECONDITION_FAILED");
});

Deno.test("an operator pauses the sending of a tenant; its messages say why they wait, and go out after it", async () => {
  const name = `Fabrikam ${crypto.randomUUID().slice(0, 8)}`;
  const tenantId = await t.tenant({ name });
  const operator = await t.actor({ tenantId, permissions: ["send:notifications", "manage:jobs"] });
  const browser = await browse(t, operator);
  await browser.begin("Messages", `Pause sending in ${name}`);
  await browser.press(`Pause job type notifications.deliver in ${name}`, { Reason: "wrong campaign" });
  const { body } = await operator.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "kim@example.test" }],
    subject: "Held",
    textBody: "x",
  });
  (await browser.begin("Messages")).shows("notifications.deliver is paused: wrong campaign").lacks(
    "Pause sending",
  );
  (await browser.follow("Held")).shows("is paused: wrong campaign", "Queued");
  await browser.press(`Resume in ${name}`);
  await browser.visit(`notifications/${body.notificationId}`);
  (await browser.waitFor("Attempt 1: accepted")).lacks("is paused");
});
