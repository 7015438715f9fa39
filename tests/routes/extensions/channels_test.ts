import assert from "node:assert/strict";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { connectPostgres } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import { has, pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { setup } from "../../support/setup.ts";
import { browse } from "../console/plain_browser.ts";
import { drawnReport } from "../reports/support.ts";
import { answers, at, base, gateway, SECRET, setupExtensions } from "./all_extensions.ts";
import { hurry, path, retryOf, sent, settledDetail, templates } from "../notifications/notifications.ts";

const t = await setupExtensions();

const send = { permissions: ["send:notifications"] };
const slack = (url: string, change = {}) => ({
  channel: "Slack",
  recipients: [{ address: base + url }],
  subject: "Deploy *failed*",
  textBody: "1 < 2 & 3",
  ...change,
});
const pager = (addresses: string[], change = {}) => ({
  channel: "TextPager",
  recipients: addresses.map((address) => ({ address })),
  textBody: "Fire",
  ...change,
});
const attemptsOf = (detail: { deliveryAttempts: object[] }) =>
  pluck(detail.deliveryAttempts, "providerName", "isSuccess");
const actor = await t.actor(send);

Deno.test("a message through Slack posts its escaped text; answers and logs do not show the webhook URL", async () => {
  const id = await sent(actor, slack("/services/T1/secret-one", { channel: "slack" }));
  const detail = await settledDetail(t, actor, id);
  has(detail, { channel: "Slack", channelDisplay: "Slack", status: "Sent" });
  assert.equal(detail.recipients[0].address, `${base}/…`);
  const [request] = at("/services/T1/secret-one");
  assert.deepEqual(JSON.parse(request?.body ?? ""), { text: "*Deploy failed*\n1 &lt; 2 &amp; 3" });
  assert.doesNotMatch(t.logs.join(""), /secret-one/);
});

Deno.test("an error that a provider throws is a temporary failure; the log shows it without the webhook URL", async () => {
  answers.set("/services/secret-four", () => new Response("", { status: 500 }));
  const recipients = [{ address: `${base}/services/secret-four` }];
  const message = { channel: "Webhook", recipients, textBody: "Hi" };
  const detail = await settledDetail(t, actor, await sent(actor, message));
  assert.deepEqual(attemptsOf(detail), [["webhook", false], ["pager-webhook", false]]);
  assert.deepEqual([detail.status, detail.lastError], ["Failed", "the message could not be handed over"]);
  const log = t.logs.join("");
  assert.ok(log.includes(`cannot post to ${base}/…`), "the error is logged");
  assert.doesNotMatch(log, /secret-four/);
});

Deno.test("a report shows a webhook URL only up to its host, other addresses in full, and filters by an extension's channel", async () => {
  const actor = await t.actor(send);
  await settledDetail(t, actor, await sent(actor, slack("/services/T1/secret-three")));
  await settledDetail(t, actor, await sent(actor, pager(["P-5"])));
  const reported = async (given = {}) => (await drawnReport(t, actor, "notification-deliveries", given)).text;
  const text = await reported();
  assert.ok(text.includes(`Slack,Sent,${base}/…,`) && text.includes("TextPager,Sent,P-5,"), text);
  assert.doesNotMatch(text, /secret-three/);
  const ofPager = await reported({ channel: "TextPager" });
  assert.ok(ofPager.includes("TextPager,Sent,P-5,") && !ofPager.includes("Slack"), ofPager);
});

Deno.test("a template is rendered for a message through the channel Webhook, whose signature is valid", async () => {
  const actor = await t.actor({ role: "Admin" });
  const texts = { subjectTemplate: "Invoice {{number}}", htmlBodyTemplate: "<p>Paid: <b>{{number}}</b></p>" };
  await accepted(actor.post(templates, { slug: "paid", name: "Paid", ...texts }), 201);
  const id = await sent(actor, {
    channel: "Webhook",
    recipients: [{ address: `${base}/hook` }],
    templateSlug: "paid",
    templateData: { number: "7" },
  });
  assert.equal((await settledDetail(t, actor, id)).status, "Sent");
  const [request] = at("/hook");
  const headers = Object.fromEntries(request?.headers ?? []);
  const verified = new Webhook(SECRET).verify(request?.body ?? "", headers) as Record<string, unknown>;
  assert.equal(headers["webhook-id"], id);
  assert.equal(verified.type, "notification");
  assert.deepEqual(verified.data, {
    notificationId: id,
    tenantId: actor.tenantId,
    subject: "Invoice 7",
    text: "Paid: 7",
    html: "<p>Paid: <b>7</b></p>",
    data: { number: "7" },
  });
});

Deno.test("a permanent refusal is final; a temporary one is retried, after Retry-After if it has one", async () => {
  answers.set("/gone", () => new Response("no_service", { status: 404 }));
  const gone = await settledDetail(t, actor, await sent(actor, slack("/gone")));
  assert.deepEqual([gone.status, gone.lastError], ["DeadLettered", "Slack answered 404: no_service"]);
  assert.equal(at("/gone").length, 1);

  answers.set("/down", () => new Response("", { status: 503 }));
  const down = await sent(actor, slack("/down"));
  assert.equal((await settledDetail(t, actor, down)).status, "Failed");
  answers.delete("/down");
  await hurry(t, down);
  assert.equal((await settledDetail(t, actor, down, ["Succeeded"])).status, "Sent");

  answers.set("/busy", () => new Response("", { status: 429, headers: { "retry-after": "1200" } }));
  const busy = await sent(actor, slack("/busy"));
  await settledDetail(t, actor, busy, ["Scheduled", "Failed", "Enqueued"]);
  assert.equal((await retryOf(t, busy)).minutes, 20);
});

Deno.test("an address that is private or malformed is refused", async () => {
  const recipients = [{ address: "http://10.1.2.3/services/secret-two" }];
  const id = await sent(actor, slack("", { recipients }));
  const { status, lastError } = await settledDetail(t, actor, id);
  assert.equal(status, "DeadLettered");
  assert.match(lastError, /^10\.1\.2\.3 is a private, loopback or link-local address/);
  assert.doesNotMatch(t.logs.join(""), /secret-two/);
  const { errors } = (await actor.post(`${path}/send`, pager(["P-1", "12"]))).body;
  assert.deepEqual(errors, { "recipients.1.address": ['"12" is not a pager number such as P-12'] });
});

Deno.test("the second provider of a channel gets the recipients that the first did not accept", async () => {
  answers.set("/a/P-2", () => new Response("", { status: 503 }));
  answers.set("/a/P-3", () => new Response("", { status: 404 }));
  answers.set("/a/P-4", () => new Response("", { status: 418 }));
  const id = await sent(actor, pager(["P-1", "P-2", "P-3", "P-4"]));
  const detail = await settledDetail(t, actor, id);
  assert.deepEqual([detail.status, detail.channelDisplay], ["Sent", "Text pager"]);
  assert.deepEqual(attemptsOf(detail), [["pager-a", true], ["pager-b", true]]);
  const ends = [["Sent", null], ["Sent", null], ["Refused", "the pager answered 404"], ["Sent", null]];
  assert.deepEqual(pluck(detail.recipients, "status", "errorMessage"), ends);
  assert.deepEqual([1, 2, 3, 4].map((n) => at(`/b/P-${n}`).length), [0, 1, 0, 1]);
});

Deno.test("a provider of an extension for a built-in channel is tried after the configured one", async () => {
  gateway.fault = { status: 500, message: "down" };
  const recipients = [{ address: "+351912345678" }];
  const id = await sent(actor, { channel: "Sms", recipients, textBody: "Hi" });
  const detail = await settledDetail(t, actor, id);
  assert.deepEqual([detail.status, attemptsOf(detail)], ["Sent", [["sms", false], ["pager-sms", true]]]);
  assert.equal(at("/sms/%2B351912345678")[0]?.body, "Hi");
});

Deno.test("a mail through an extension's provider has the user's own unsubscribe link", async () => {
  const actor = await t.actor({ role: "Admin" });
  const texts = { subjectTemplate: "News", textBodyTemplate: "Leave: {{unsubscribeUrl}}" };
  await accepted(actor.post(templates, { slug: "news", name: "News", ...texts }));
  const mail = { channel: "Email", recipients: [], userIds: [actor.userId] };
  const id = await sent(actor, { ...mail, category: "news", templateSlug: "news" });
  const detail = await settledDetail(t, actor, id);
  assert.deepEqual([detail.status, attemptsOf(detail)], ["Sent", [["smtp", false], ["pager-mail", true]]]);
  const [, link = ""] =
    /^Leave: (\S+)$/.exec(at(`/mail/${encodeURIComponent(actor.email)}`)[0]?.body ?? "") ??
      [];
  assert.ok(link.startsWith(t.url), link);
  assert.equal((await fetch(link)).status, 200);
});

Deno.test("the console shows channels of extensions by their display name", async () => {
  const actor = await t.actor(send);
  await settledDetail(t, actor, await sent(actor, pager(["P-9"])));
  const browser = await browse(t, actor);
  const page = async (address: string) => (await browser.open(address)).html;
  const list = await page("notifications?channel=TextPager");
  assert.match(list, /<option value="TextPager" selected[^>]*>Text pager<\/option>/);
  assert.equal(list.match(/Text pager/g)?.length, 3, "in the filter, its chip and the row of the message");
  assert.match(await page("notifications/send"), /<option value="Slack"[^>]*>Slack<\/option>/);
  assert.match(await page("preferences"), /name="0\.textPager"/);
});

Deno.test("preferences have a member per channel of an extension; a user who does not want it is skipped", async () => {
  const own = `/api/v1/user-notifications/preferences?userId=${actor.userId}`;
  const names = ["email", "push", "inApp", "sms", "slack", "webhook", "textPager"];
  const all = Object.fromEntries(names.map((name) => [name, true]));
  const put = async (channels: object) => {
    const answer = await actor.put(own, { timeZoneId: "UTC", categories: [{ category: "news", channels }] });
    return { ...answer, channels: answer.body.categories?.[0].channels };
  };
  assert.deepEqual((await put({ email: false })).channels, { ...all, email: false });
  assert.equal((await put({ textPager: "no" })).status, 400);
  assert.deepEqual((await put({ textPager: false })).channels, { ...all, textPager: false });
  const toUser = { recipients: [], userIds: [actor.userId] };
  const news = await sent(actor, pager([], { ...toUser, category: "News" }));
  const skipped = await settledDetail(t, actor, news);
  assert.deepEqual([skipped.status, skipped.recipients[0].reason], ["Cancelled", "OptedOut"]);
  const other = await sent(actor, pager([], { ...toUser, category: "alarms" }));
  assert.equal((await settledDetail(t, actor, other)).recipients[0].address, `P-${actor.userId}`);
  assert.equal(at(`/a/P-${actor.userId}`).length, 1);

  await t.steward.platform.sql`update users set first_name = 'Pagerless' where id = ${actor.userId}`;
  for (const message of [pager([], toUser), slack("", toUser)]) {
    const [recipient] = (await settledDetail(t, actor, await sent(actor, message))).recipients;
    assert.deepEqual([recipient.status, recipient.reason], ["Skipped", "NoAddress"]);
  }
});

Deno.test("an unknown channel is refused with the names of all channels, which the API document lists", async () => {
  const names = ["Email", "Push", "InApp", "Sms", "Slack", "Webhook", "TextPager"];
  const expected = { channel: [`expected one of ${names.join(", ")}`] };
  const sent = actor.post(`${path}/send`, slack("/x", { channel: "Fax" }));
  for (const { body } of [await sent, await actor.get(`${path}?channel=Fax`)]) {
    assert.deepEqual(body.errors, expected);
  }
  const { body: document } = await t.nobody.get("/openapi.json");
  const { SendNotificationRequest, NotificationPreferencesDto } = document.components.schemas;
  assert.deepEqual(SendNotificationRequest.properties.channel.enum, names);
  const { channels } = NotificationPreferencesDto.properties.categories.items.properties;
  assert.deepEqual(channels.properties.textPager, { type: "boolean" });
});

/** Starts a service with an extension that has the channel Pigeon; returns the error. */
async function startFailure(env: Record<string, string>): Promise<string> {
  const module = join(await Deno.makeTempDir({ prefix: "steward-channel-" }), "mod.ts");
  await Deno.writeTextFile(
    module,
    `import { defineExtension } from "@steward/steward";
    const address = { expected: "e", fits: () => true };
    const channels = [{ name: "Pigeon", displayName: "D", address, providers: [] }];
    export default defineExtension({ name: "acme", channels });`,
  );
  return await setup({ STEWARD_EXTENSIONS: module, ...env }).then(
    (started) => started.stop().then(() => "it started"),
    (error) => error.message,
  );
}

Deno.test("a channel that the database lacks is reported at start: without migrations, and to a role that does not own the type", async () => {
  const DATABASE_URL = await createTestDatabase();
  assert.match(
    await startFailure({ DATABASE_URL, MIGRATE_ON_START: "false" }),
    /^the database lacks channel Pigeon; run `deno task migrate` before starting$/,
  );
  const sql = connectPostgres(DATABASE_URL, { max: 1 });
  await sql`create role steward_channel_owner`;
  await sql`alter type notification_channel owner to steward_channel_owner`;
  await sql`create role steward_channel_user login password 'x' in role pg_read_all_data, pg_write_all_data`;
  await sql`grant all on schema public to steward_channel_user`;
  await sql.end();
  const url = new URL(DATABASE_URL);
  [url.username, url.password] = ["steward_channel_user", "x"];
  assert.match(
    await startFailure({ DATABASE_URL: url.href }),
    /the channel Pigeon cannot be added: must be owner of type notification_channel; run `deno task migrate`/,
  );
});
