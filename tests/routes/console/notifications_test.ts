import assert from "node:assert/strict";
import { instantOf } from "../../../routes/console/components/date_inputs.ts";
import { framed, openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

const sender = await t.actor({ permissions: ["send:notifications", "read:users"] });
const PAGES = ["notifications", "notifications/send", "templates", "templates/new", "suppressions"];
const HOSTILE = `<h2 id="said">Olá Zoë</h2><script>parent.document.title = "taken"</script>` +
  `<img src="https://evil.test/x.png" onerror="parent.document.title='taken'"><p style="color:red">red</p>`;

inBrowser(
  "an email is sent from the form; its page shows delivery and content, and its HTML runs nothing",
  async (b) => {
    const viewing = await openConsole(b, t, sender);
    const { page } = viewing;
    await viewing.open("notifications/send");
    await page.getByLabel("Users of this tenant").first().fill("Actor");
    await page.locator("#people").getByText(sender.email).click();
    await page.getByLabel("Addresses").fill("Zoë Åström <zoe@example.com>\nnot an address");
    await page.getByLabel("Subject").fill("<b>Hello</b> {{ you }}");
    await page.getByLabel("HTML body", { exact: true }).fill(HOSTILE);
    await framed(page, "Olá Zoë");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("listitem").filter({ hasText: "recipients.1.address" }).waitFor();
    assert.equal(
      await page.getByLabel("Subject").inputValue(),
      "<b>Hello</b> {{ you }}",
      "what was typed is kept",
    );
    await page.getByLabel("Addresses").fill("Zoë Åström <zoe@example.com>");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("heading", { name: "<b>Hello</b> {{ you }}" }).waitFor();
    const sent = page.locator("main .facts").getByText("Sent", { exact: true }); // the status, and the fact's name
    await viewing.reloadUntil(async () => await sent.count() === 2);
    await page.getByText("Attempt 1: accepted").waitFor();
    await page.getByRole("cell", { name: "zoe@example.com" }).waitFor();
    await page.getByRole("cell", { name: sender.email }).waitFor();
    await framed(page, "Olá Zoë");
    assert.doesNotMatch(await page.title(), /taken/);
    viewing.forgive(); // the refused form, and what the frame's policy blocks

    const body = await page.goto(`${page.url()}/body`);
    const policy = body?.headers()["content-security-policy"] ?? "";
    assert.match(policy, /^sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:;/);
    assert.equal(await page.locator("#said").textContent(), "Olá Zoë");
    assert.doesNotMatch(await page.title(), /taken/);
    viewing.forgive();
    await viewing.close();
  },
);

inBrowser("a message shows attachments, copies, reports and suppressed recipients", async (b) => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const { sql } = t.steward.platform;
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
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await viewing.open(`notifications/${id}`);
  for (const text of ["terms.pdf", "answers@example.com", "(copy)", "(blind copy)", "550 unknown"]) {
    await page.getByText(text).first().waitFor();
  }
  assert.equal(await page.getByText("Bounced", { exact: true }).count(), 2, "the message and its recipient");
  await actor.post("/api/v1/notification-suppressions", {
    channel: "Email",
    address: "Gone@example.com",
    reason: "HardBounce",
    detail: "550 gone",
  });
  await page.reload();
  await page.getByText(/gone@example\.com is suppressed since .* because of a bounce: it is skipped/)
    .waitFor();
  await page.getByText("550 gone").waitFor();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Send again" }).click();
  await page.locator("#confirm").getByText(/1 delivery attempt\. gone@example\.com is suppressed since/)
    .waitFor();
  await page.keyboard.press("Escape");
  await sql`update notifications set body_expired_at = now(), text_body = null where id = ${id}`;
  await viewing.open(`notifications/${id}`);
  await page.getByText("The content was deleted").waitFor();
  assert.equal(await page.getByRole("button", { name: "Send again" }).count(), 0);
  await viewing.open("notifications?recipient=FIRST@");
  await page.getByRole("cell", { name: "first@example.com and 2 more" }).waitFor();
  await viewing.open("notifications?recipient=nobody");
  assert.equal(await page.getByRole("link", { name: "With reports" }).count(), 0);
  await viewing.close();
});

inBrowser("messages are filtered by the query, and selected ones are cancelled or sent again", async (b) => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  const later = new Date(Date.now() + 864e5).toISOString();
  for (const subject of ["One", "Two"]) {
    await actor.post("/api/v1/notifications/schedule", {
      notification: { channel: "Email", recipients: [{ address: "a@example.com" }], subject, textBody: "x" },
      scheduledAt: later,
    });
  }
  await actor.post("/api/v1/notifications/send", {
    channel: "Sms",
    recipients: [{ address: "+351912345678" }],
    textBody: "x",
  });
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await viewing.open("notifications");
  await page.getByRole("link", { name: "One" }).waitFor();
  await page.getByLabel("Channel").selectOption("Sms");
  await page.waitForURL("**/notifications?channel=Sms**");
  await page.getByRole("link", { name: "One" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Scheduled 2" }).click();
  await page.getByText("No results").waitFor();
  await viewing.open("notifications?status=Scheduled&from=2999-01-01");
  await page.getByText("No results").waitFor();
  await viewing.open("notifications?status=Scheduled");
  await page.getByLabel("This page").check();
  await page.getByRole("button", { name: "Cancel messages" }).click();
  await page.getByRole("heading", { name: "2 scheduled messages: cancel them?" }).waitFor();
  await page.getByRole("button", { name: "Cancel messages (2)" }).click();
  await page.getByText("Cancel messages: done for 2.").waitFor();
  await viewing.open("notifications?status=Cancelled");
  await page.getByRole("link", { name: "Two" }).click();
  await page.getByRole("heading", { name: "Two" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Send again" }).count(), 0, "nothing to retry");
  await viewing.close();
});

inBrowser("a message is scheduled in the viewer's time zone, and a failed one is sent again", async (b) => {
  const viewing = await openConsole(b, t, sender);
  const { page } = viewing;
  await viewing.open("notifications/send"); // from here on the browser's time zone is known
  await viewing.open("notifications/send");
  await page.getByText("Time zone: Europe/Lisbon").waitFor();
  await page.getByLabel("Channel").selectOption("Sms");
  await page.getByLabel("Subject").waitFor({ state: "hidden" });
  await page.getByLabel("Addresses").fill("+351912345678");
  await page.getByLabel("Text body").fill("Olá");
  await page.getByLabel("Send at").fill("2999-07-01T09:30");
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await page.getByText("The message was scheduled.").waitFor();
  const id = page.url().split("/").at(-1) ?? "";
  const { body } = await sender.get(`/api/v1/notifications/${id}`);
  assert.equal(body.scheduledAt, "2999-07-01T08:30:00.000Z");
  await page.getByRole("button", { name: "Cancel message" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("The message was cancelled.").waitFor();

  const { sql } = t.steward.platform;
  await sql`update notifications set status = 'DeadLettered', last_error = '<b>550</b> no' where id = ${id}`;
  await page.reload();
  await page.getByText("<b>550</b> no").waitFor();
  await page.getByRole("row", { name: /351912345678/ }).getByText("Not delivered").waitFor();
  assert.equal(await page.getByText("Pending").count(), 0, "nothing more comes by itself");
  assert.equal(await page.getByText("not yet").count(), 0);
  await page.getByRole("button", { name: "Send again" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("The message was queued again").waitFor();
  await viewing.reloadUntil(async () => await page.getByText("Attempt 1: accepted").count() > 0);
  await viewing.close();
});

Deno.test("a local time becomes an instant, also around daylight-saving changes", () => {
  const v = { timeZone: "Europe/Lisbon" };
  assert.equal(instantOf(v, "2026-07-01T09:30"), "2026-07-01T08:30:00Z");
  assert.equal(instantOf(v, "2026-03-29T01:30"), "2026-03-29T01:30:00Z", "01:30 was skipped");
  assert.equal(instantOf(v, "2026-07-01"), "2026-06-30T23:00:00Z");
  assert.equal(instantOf(v, "2026-07-01", true), "2026-07-01T22:59:59.999Z");
  for (const none of ["", "x", "2026-13-01", "2026-07-01T25:00"]) assert.equal(instantOf(v, none), undefined);
});

inBrowser("an address is suppressed once, found, and removed again", async (b) => {
  const viewing = await openConsole(b, t, sender, { phone: true });
  const { page } = viewing;
  await viewing.open("suppressions");
  const add = async (address: string) => {
    await page.locator("summary", { hasText: "Suppress an address" }).click();
    await page.locator("#f-address").fill(address);
    await page.getByRole("button", { name: "Suppress", exact: true }).click();
  };
  await add("dead@example.com");
  await page.getByText("The address was suppressed.").waitFor();
  await add("Dead@example.com");
  await page.getByText("NOTIFICATION_SUPPRESSION_ALREADY_EXISTS").waitFor();
  viewing.forgive();
  await viewing.requireNoSidewaysScroll();
  await viewing.requireAccessible();
  await viewing.open("suppressions?search=dead");
  await page.getByRole("button", { name: "Remove" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("Messages are sent to it again.").waitFor();
  await viewing.close();
});

inBrowser(
  "every user sets their notification preferences, in both languages, and a concurrent change is refused",
  async (b) => {
    const visitor = await t.actor({ role: "Visitor" });
    const viewing = await openConsole(b, t, visitor, { locale: "pt-PT", theme: "dark" });
    const { page } = viewing;
    await viewing.open("account");
    await page.getByRole("link", { name: "Escolher as notificações que recebe" }).click();
    await page.getByLabel("Nova categoria", { exact: true }).fill("Promoções");
    await page.getByLabel("Nova categoria: E-mail").uncheck();
    await page.getByLabel("Usar horas de silêncio").check();
    await page.getByLabel("Fuso horário").selectOption("Europe/Lisbon");
    await page.getByLabel("Enviar-me um resumo diário").check();
    await page.getByRole("button", { name: "Salvar", exact: true }).click();
    await page.getByText("Suas preferências foram salvas.").waitFor();
    assert.equal(await page.getByLabel("promoções: E-mail").isChecked(), false);
    await viewing.requireAccessible();
    const path = `/api/v1/user-notifications/preferences?userId=${visitor.userId}`;
    const { body } = await visitor.get(path);
    assert.deepEqual(body.quietHours, { from: "22:00", to: "08:00" });
    assert.deepEqual([body.timeZoneId, body.digest.isEnabled], ["Europe/Lisbon", true]);
    assert.equal((await visitor.put(path, { timeZoneId: "UTC" })).status, 200);
    await page.getByRole("button", { name: "Salvar", exact: true }).click();
    await page.getByText("PRECONDITION_FAILED").waitFor();
    viewing.forgive();
    await viewing.close();
  },
);

inBrowser("each kind of viewer sees only the pages their permissions open", async (b) => {
  const statuses = async (actor: typeof sender) => {
    const viewing = await openConsole(b, t, actor);
    const found: number[] = [];
    for (const address of [...PAGES, "preferences"]) {
      const answer = await viewing.page.request.get(`${t.url}/console/${address}`);
      found.push(answer.status());
    }
    await viewing.open("inbox");
    const links = await viewing.page.locator("nav.sections a[href=templates]").count();
    await viewing.close();
    return { found, links };
  };
  const open = { found: [200, 200, 200, 200, 200, 200], links: 1 };
  const closed = { found: [403, 403, 403, 403, 403, 200], links: 0 };
  assert.deepEqual(await statuses(t.systemAdmin), open);
  const global = await t.actor({ role: "SystemAdmin", global: true });
  assert.deepEqual(await statuses(global), open, "the service's own messages");
  const admin = await t.actor({ role: "Admin" });
  const mayAdmin = (await admin.get("/api/v1/notifications")).status === 200;
  assert.deepEqual(await statuses(admin), mayAdmin ? open : closed);
  assert.deepEqual(await statuses(await t.actor({ role: "Visitor" })), closed);
  assert.deepEqual(await statuses(await t.actor({ permissions: [] })), closed);
  for (const address of [...PAGES, "preferences", "notifications/x/body"]) {
    const answer = await fetch(`${t.url}/console/${address}`, { redirect: "manual" });
    await answer.body?.cancel();
    assert.equal(answer.status, 303, address);
  }
  const other = await t.actor({ permissions: ["send:notifications"] });
  const foreign = await sender.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "a@example.com" }],
    subject: "secret",
    htmlBody: "<p>secret</p>",
  });
  const viewing = await openConsole(b, t, other);
  for (const part of ["", "/body"]) {
    const answer = await viewing.page.request.get(
      `${t.url}/console/notifications/${foreign.body.notificationId}${part}`,
    );
    assert.equal(answer.status(), 404);
    assert.ok(!(await answer.text()).includes("secret"));
  }
  await viewing.close();
});
