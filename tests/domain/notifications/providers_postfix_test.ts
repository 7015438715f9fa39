import assert from "node:assert/strict";
import { hasOpenssl, makeCertificates } from "../../infra/mail/certificates.ts";
import { startReceiver } from "../../infra/mail/receiver.ts";
import { hurry, path, refused, sent, settledDetail } from "../../routes/notifications/notifications.ts";
import { canRunPostfix, startPostfix } from "../../support/postfix.ts";
import { setup } from "../../support/setup.ts";

Deno.test({
  name:
    "mail through Debian's Postfix: the next server or a retry gets only unsettled recipients (Postfix, root)",
  ignore: !canRunPostfix || !hasOpenssl,
  async fn(step) {
    const run = await Deno.makeTempDir();
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => Deno.remove(run, { recursive: true }));
    const postfix = cleanup.use(await startPostfix(run, await makeCertificates(run)));
    const other = cleanup.use(await startReceiver());
    const MAIL_FROM = "Steward <service@steward.test>";
    const first = `smtp://127.0.0.1:${postfix.plainPort}`;
    const alone = await setup({ SMTP_URL: first, MAIL_FROM });
    cleanup.defer(() => alone.stop());
    const pair = await setup({ SMTP_URL: `${first}, ${other.url}`, MAIL_FROM });
    cleanup.defer(() => pair.stop());
    const to = (...names: string[]) => ({
      channel: "Email",
      subject: "Hi",
      textBody: "There",
      recipients: names.map((name) => ({ address: `${name}@peer.test` })),
    });
    const statuses = (detail: { recipients: { status: string }[] }) => detail.recipients.map((r) => r.status);
    const tries = (detail: { deliveryAttempts: { providerName: string; isSuccess: boolean }[] }) =>
      detail.deliveryAttempts.map((each) => [each.providerName, each.isSuccess]);

    await step.step("delivered and permanently rejected recipients are not tried again", async () => {
      const ann = await alone.actor({ permissions: ["send:notifications"] });
      const id = await sent(ann, to("ann", "busy", "unknown", "bob", "full"));
      const detail = await settledDetail(alone, ann, id);
      assert.equal(detail.status, "Failed");
      assert.deepEqual(statuses(detail), ["Sent", "Owed", "Refused", "Sent", "Owed"]);
      await postfix.delivered(`${id}@steward.test`);
      await hurry(alone, id);
      for (;;) {
        const { deliveryAttempts } = (await ann.get(`${path}/${id}`)).body;
        if (deliveryAttempts.length === 2) break;
      }
      assert.deepEqual((await postfix.refusals()).toSorted(), [
        ...["450 busy@peer.test", "450 busy@peer.test", "452 full@peer.test", "452 full@peer.test"],
        "550 unknown@peer.test",
      ]);
    });

    await step.step(
      "the second server gets only recipients that the first rejected temporarily",
      async () => {
        const ann = await pair.actor({ permissions: ["send:notifications"] });
        const detail = await settledDetail(pair, ann, await sent(ann, to("ann", "busy", "unknown")));
        assert.equal(detail.status, "Sent");
        assert.deepEqual(statuses(detail), ["Sent", "Sent", "Refused"]);
        assert.deepEqual(tries(detail), [["smtp", true], ["smtp-2", true]]);
        assert.deepEqual(other.received.map((mail) => mail.to), [["busy@peer.test"]]);
        assert.ok(other.received[0]?.raw.includes(`Message-ID: <${detail.id}@steward.test>`));
      },
    );

    await step.step("a server that closes the connection is skipped", async () => {
      const ann = await pair.actor({ permissions: ["send:notifications"] });
      const hung = await settledDetail(pair, ann, await sent(ann, to("hangup")));
      assert.deepEqual([hung.status, tries(hung)], ["Sent", [["smtp", false], ["smtp-2", true]]]);
    });

    await step.step("a direct email returns Postfix' answer without the server's address", async () => {
      const ann = await alone.actor({ permissions: ["send:notifications"] });
      const direct = (name: string) =>
        ann.post(`${path}/email`, { to: [`${name}@peer.test`], subject: "S", textBody: "T" });
      for (
        const [name, words] of [["unknown", /550 5\.1\.1 .*User unknown/], [
          "busy",
          /450 4\.2\.0 .*Mailbox busy/,
        ]] as const
      ) {
        const answer = await direct(name);
        refused(answer, 400, "NOTIFICATION_DELIVERY_FAILED");
        assert.match(answer.body.detail, words);
        assert.ok(
          !/127\.0\.0\.1|localhost:|smtp:/.test(JSON.stringify(answer.body.detail)),
          answer.body.detail,
        );
      }
      assert.equal((await direct("ann")).body.status, "Sent");
    });
  },
});

Deno.test("an unreachable mail server is reported without its address; the log has the address", async () => {
  const t = await setup({ SMTP_URL: "smtp://127.0.0.1:1" });
  try {
    const ann = await t.actor({ permissions: ["send:notifications"] });
    const answer = await ann.post(`${path}/email`, { to: ["a@x.test"], subject: "S", textBody: "T" });
    refused(answer, 400, "NOTIFICATION_DELIVERY_FAILED");
    assert.match(answer.body.detail, /the mail server could not be reached \(ESOCKET\)/);
    const [listed] = (await ann.get(path)).body.items;
    const recorded = JSON.stringify((await ann.get(`${path}/${listed.id}`)).body);
    assert.ok(!recorded.includes("127.0.0.1"), recorded);
    assert.ok(t.logs.some((line) => line.includes("127.0.0.1:1")));
  } finally {
    await t.stop();
  }
});
