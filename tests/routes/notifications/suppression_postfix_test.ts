import assert from "node:assert/strict";
import { hasOpenssl, makeCertificates } from "../../infra/mail/certificates.ts";
import { canRunPostfix, startPostfix } from "../../support/postfix.ts";
import { setup } from "../../support/setup.ts";
import { email, sent, settledDetail } from "./notifications.ts";

Deno.test({
  name: "answers of Debian's Postfix suppress unknown mailboxes and nothing else (Postfix, root)",
  ignore: !canRunPostfix || !hasOpenssl,
  async fn() {
    const run = await Deno.makeTempDir();
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => Deno.remove(run, { recursive: true }));
    const postfix = cleanup.use(await startPostfix(run, await makeCertificates(run)));
    const t = await setup({
      SMTP_URL: `smtp://127.0.0.1:${postfix.plainPort}`,
      MAIL_FROM: "Steward <service@steward.test>",
    });
    cleanup.defer(() => t.stop());
    const ann = await t.actor({ permissions: ["send:notifications"] });
    const recipients = ["unknown", "blocked", "fine"].map((name) => ({ address: `${name}@peer.test` }));
    const detail = await settledDetail(t, ann, await sent(ann, email({ recipients })));
    assert.deepEqual(detail.recipients.map((r: { status: string }) => r.status), [
      "Refused",
      "Refused",
      "Sent",
    ]);
    const { items } = (await ann.get("/api/v1/notification-suppressions")).body;
    assert.deepEqual(items.map((row: { address: string }) => row.address), ["unknown@peer.test"]);
    assert.match(items[0].detail, /^550 5\.1\.1 .*User unknown/);

    const bob = await t.actor({ tenantId: ann.tenantId ?? "" });
    const message = email({ recipients: undefined, userIds: [bob.userId], category: "news" });
    const id = await sent(ann, message);
    assert.equal((await settledDetail(t, ann, id)).status, "Sent");
    const [row] = await t.steward.platform.sql<{ id: string }[]>`
      select id from notification_recipients where notification_id = ${id}`;
    const raw = await postfix.delivered(`${row?.id}@steward.test`);
    assert.match(raw, /^List-Unsubscribe:\s+<http:\/\/\S+\/unsubscribe\?token=[\w-]+\.[\w-]+>$/m);
    assert.match(raw, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click$/m);
  },
});
