import assert from "node:assert/strict";
import { hasOpenssl, makeCertificates } from "../../infra/mail/certificates.ts";
import { startReceiver } from "../../infra/mail/receiver.ts";
import { has, pluck } from "../../support/answers.ts";
import { canRunPostfix, startPostfix } from "../../support/postfix.ts";
import { setup } from "../../support/setup.ts";
import { delivered, email, nextAttempt, path, refused, to } from "./notifications.ts";

Deno.test({
  name:
    "mail through Debian's Postfix: retries, the next server, direct mail, suppressions and links (Postfix, root)",
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
    const mail = (...names: string[]) => email(to(...names.map((name) => `${name}@peer.test`)));
    const tries = (detail: { deliveryAttempts: unknown[] }) =>
      pluck(detail.deliveryAttempts, "providerName", "isSuccess");
    const permissions = ["send:notifications"];

    await step.step("delivered and permanently rejected recipients are not tried again", async () => {
      const ann = await alone.actor({ permissions });
      const detail = await delivered(alone, ann, mail("ann", "busy", "unknown", "bob", "full"));
      assert.equal(detail.status, "Failed");
      assert.deepEqual(pluck(detail.recipients, "status"), ["Sent", "Owed", "Refused", "Sent", "Owed"]);
      await postfix.delivered(`${detail.id}@steward.test`);
      await nextAttempt(alone, ann, detail.id, 2);
      assert.deepEqual((await postfix.refusals()).toSorted(), [
        ...["450 busy@peer.test", "450 busy@peer.test", "452 full@peer.test", "452 full@peer.test"],
        "550 unknown@peer.test",
      ]);
    });

    await step.step("the second server gets only what the first rejected temporarily", async () => {
      const ann = await pair.actor({ permissions });
      const detail = await delivered(pair, ann, mail("ann", "busy", "unknown"));
      assert.equal(detail.status, "Sent");
      assert.deepEqual(pluck(detail.recipients, "status"), ["Sent", "Sent", "Refused"]);
      assert.deepEqual(tries(detail), [["smtp", true], ["smtp-2", true]]);
      assert.deepEqual(pluck(other.received, "to"), [["busy@peer.test"]]);
      assert.ok(other.received[0]?.raw.includes(`Message-ID: <${detail.id}@steward.test>`));
    });

    await step.step("a server that closes the connection is skipped", async () => {
      const hung = await delivered(pair, await pair.actor({ permissions }), mail("hangup"));
      assert.deepEqual([hung.status, tries(hung)], ["Sent", [["smtp", false], ["smtp-2", true]]]);
    });

    await step.step("a direct email returns Postfix' answer without the server's address", async () => {
      const ann = await alone.actor({ permissions });
      const direct = (name: string) =>
        ann.post(`${path}/email`, { to: [`${name}@peer.test`], subject: "S", textBody: "T" });
      const words = { unknown: /550 5\.1\.1 .*User unknown/, busy: /450 4\.2\.0 .*Mailbox busy/ };
      for (const [name, expected] of Object.entries(words)) {
        const answer = await direct(name);
        refused(answer, 400, "NOTIFICATION_DELIVERY_FAILED");
        assert.match(answer.body.detail, expected);
        assert.doesNotMatch(answer.body.detail, /127\.0\.0\.1|localhost:|smtp:/);
      }
      assert.equal((await direct("ann")).body.status, "Sent");
    });

    await step.step("its answers suppress unknown mailboxes and nothing else", async () => {
      const ann = await alone.actor({ permissions });
      const detail = await delivered(alone, ann, mail("unknown", "blocked", "fine"));
      assert.deepEqual(pluck(detail.recipients, "status"), ["Refused", "Refused", "Sent"]);
      const { items } = (await ann.get("/api/v1/notification-suppressions")).body;
      assert.deepEqual(pluck(items, "address"), ["unknown@peer.test"]);
      assert.match(items[0].detail, /^550 5\.1\.1 .*User unknown/);
    });

    await step.step("the links to unsubscribe arrive as they were written", async () => {
      const ann = await alone.actor({ permissions });
      const bob = await alone.actor({ tenantId: ann.tenantId ?? "" });
      const message = email({ recipients: undefined, userIds: [bob.userId], category: "news" });
      const detail = await delivered(alone, ann, message);
      has(detail, { status: "Sent" });
      const [row] = await alone.steward.platform.sql<{ id: string }[]>`
        select id from notification_recipients where notification_id = ${detail.id}`;
      const raw = await postfix.delivered(`${row?.id}@steward.test`);
      assert.match(raw, /^List-Unsubscribe:\s+<http:\/\/\S+\/unsubscribe\?token=[\w-]+\.[\w-]+>$/m);
      assert.match(raw, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/m);
    });
  },
});
