import assert from "node:assert/strict";
import { readConfig } from "../../../infra/config.ts";
import { openProviders } from "../../../infra/providers.ts";
import { setup } from "../../support/setup.ts";
import { startSmsGateway } from "../../support/sms_gateway.ts";
import { hurry, path, refused, sent, settledDetail } from "../../routes/notifications/notifications.ts";

const [first, second] = [startSmsGateway(), startSmsGateway({ sender: "messagingService=MG2" })];
const t = await setup({ SMS_URL: `${first.smsUrl}, ${second.smsUrl}` });
Deno.test.afterAll(async () => {
  await t.stop();
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
});
const sender = await t.actor({ permissions: ["send:notifications"] });
const text = (...numbers: string[]) => ({
  channel: "Sms",
  recipients: numbers.map((address) => ({ address })),
  textBody: "Hello",
});
const statuses = (detail: { recipients: { status: string }[] }) =>
  detail.recipients.map(({ status }) => status);
const providersOf = (detail: { deliveryAttempts: { providerName: string; isSuccess: boolean }[] }) =>
  detail.deliveryAttempts.map((each) => [each.providerName, each.isSuccess]);
const clear = () => [first, second].forEach((each) => (each.requested.length = 0, each.accepted.length = 0));

Deno.test("if the first gateway is down, the second takes the message, and both attempts are stored", async () => {
  clear();
  first.fault = { status: 503, message: "Service Unavailable" };
  try {
    const detail = await settledDetail(t, sender, await sent(sender, text("+351912345601", "+351912345602")));
    assert.equal(detail.status, "Sent");
    assert.deepEqual(providersOf(detail), [["sms", false], ["sms-2", true]]);
    assert.deepEqual(second.accepted.map(({ to, sender }) => [to, sender]), [
      ["+351912345601", "MG2"],
      ["+351912345602", "MG2"],
    ]);
  } finally {
    first.fault = null;
  }
});

Deno.test("a retry asks only for unsettled numbers, and a permanently rejected number goes to no other gateway", async () => {
  clear();
  [first.retryAfter, second.retryAfter] = ["20", "45"];
  const numbers = ["+351912345611", "+3519121211", "+3519121610", "+351912345429"];
  const id = await sent(sender, text(...numbers));
  const detail = await settledDetail(t, sender, id, ["Scheduled"]);
  assert.equal(detail.status, "Failed");
  assert.deepEqual(statuses(detail), ["Sent", "Refused", "Refused", "Owed"]);
  assert.deepEqual(first.requested.toSorted(), numbers.toSorted());
  assert.deepEqual(second.requested, ["+351912345429"]);
  const [job] = await t.steward.platform.sql<{ seconds: number }[]>`
    select extract(epoch from due_at - now())::float8 as seconds
    from jobs where id = (select job_id from notifications where id = ${id})`;
  assert.ok(
    job && job.seconds > 30 && job.seconds <= 46,
    `due in ${job?.seconds} s, as the last gateway requested`,
  );
  clear();
  await hurry(t, id);
  for (;;) {
    const { deliveryAttempts } = (await sender.get(`${path}/${id}`)).body;
    if (deliveryAttempts.length === 4) break;
  }
  assert.deepEqual([first.requested, second.requested], [["+351912345429"], ["+351912345429"]]);
});

Deno.test("no further number is sent to a gateway that asked for a delay", async () => {
  clear();
  first.retryAfter = second.retryAfter = null;
  first.fault = { status: 429, code: 20429, message: "Too Many Requests" };
  try {
    const numbers = Array.from({ length: 60 }, (_, n) => `+35191000${String(n).padStart(4, "0")}`);
    const detail = await settledDetail(t, sender, await sent(sender, text(...numbers)));
    assert.equal(detail.status, "Sent");
    assert.ok(first.requested.length <= 5, `${first.requested.length} requests`);
    assert.deepEqual(second.accepted.map(({ to }) => to).toSorted(), numbers);
    assert.ok(second.maxConcurrent <= 5);
  } finally {
    first.fault = null;
  }
});

Deno.test("a text of more than 1,600 characters is rejected, in the request or after rendering", async () => {
  const long = await sender.post(`${path}/send`, { ...text("+351912345678"), textBody: "x".repeat(1_601) });
  refused(long, 400, "VALIDATION_ERROR");
  assert.match(
    JSON.stringify(long.body.errors.textBody),
    /1601 characters; a text message holds at most 1600/,
  );
  const template = { slug: "long-text", name: "Long text", textBodyTemplate: "{{ words }}" };
  assert.equal((await sender.post("/api/v1/notification-templates", template)).status, 201);
  const made = {
    ...text("+351912345678"),
    textBody: undefined,
    templateSlug: "long-text",
    templateData: { words: "x".repeat(1_700) },
  };
  const detail = await settledDetail(t, sender, await sent(sender, made));
  assert.equal(detail.status, "DeadLettered");
  assert.match(detail.deliveryAttempts[0].errorMessage, /a text message holds at most 1600/);
});

Deno.test("answers and attempts contain neither the gateway's address nor the credentials", async () => {
  first.fault = second.fault = { status: 401, code: 20003, message: "Authenticate" };
  try {
    const id = await sent(sender, text("+351912345641"));
    const detail = JSON.stringify(await settledDetail(t, sender, id));
    assert.ok(!/127\.0\.0\.1|t0ken|AC0000/.test(detail), detail);
    assert.ok(!t.logs.some((line) => line.includes("t0ken")));
  } finally {
    first.fault = second.fault = null;
  }
});

Deno.test("production sends nothing to the development outbox", async () => {
  const dataDir = await Deno.makeTempDir();
  const config = readConfig({ DATA_DIR: dataDir });
  const development = await openProviders(config);
  assert.deepEqual([development.mail, development.push, development.sms].map((each) => each[0]?.name), [
    ...["outbox", "outbox", "outbox"],
  ]);
  const SMTP_URL = ["smtp://127.0.0.1:1", "smtps://127.0.0.1:2"];
  const production = await openProviders({ ...config, isProduction: true, SMTP_URL });
  assert.deepEqual(production.mail.map((each) => each.name), ["smtp", "smtp-2"]);
  assert.deepEqual([production.push, production.sms, production.outbox], [[], [], null]);
  await Deno.remove(dataDir, { recursive: true });
});

Deno.test("errors in provider settings are named, and no secret is shown", () => {
  const key = {
    project_id: "p",
    client_email: "a@b",
    private_key_id: "k",
    private_key: "s3cret",
    token_uri: "http://x.test",
  };
  for (
    const [name, value, mistake] of [
      [
        "SMTP_URL",
        "smtp://a:s3cret@x.test, http://x.test",
        /SMTP_URL: entry 2: expected a URL beginning with smtp:/,
      ],
      ["SMS_URL", "https://AC1:s3cret@x.test", /SMS_URL: entry 1: expected either `from` or/],
      ["FCM_SERVICE_ACCOUNT", "{s3cret", /FCM_SERVICE_ACCOUNT: expected JSON/],
      [
        "FCM_SERVICE_ACCOUNT",
        JSON.stringify(key),
        /private_key: expected a PKCS #8 key.*token_uri: expected an https URL/,
      ],
    ] as const
  ) {
    assert.throws(
      () => readConfig({ [name]: value }),
      (error: Error) => mistake.test(error.message) && !error.message.includes("s3cret"),
      name,
    );
  }
  assert.deepEqual(readConfig({ SMTP_URL: "smtp://a:b,c@x.test,smtps://y.test" }).SMTP_URL, [
    ...["smtp://a:b,c@x.test", "smtps://y.test"],
  ]);
});
