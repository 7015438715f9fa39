import assert from "node:assert/strict";
import { checkDueSender } from "../../../domain/looks/senders/check_job.ts";
import { startReceiver } from "../../infra/mail/receiver.ts";
import { startNameServer } from "../../support/name_server.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { until } from "../../support/until.ts";

export const path = "/api/v1/notification-senders";

let count = 0;
export const newDomain = () => `tenant${++count}.example`;

export const add = async (by: Actor, body: Record<string, unknown>) => (await by.post(path, body)).body;
export const verify = (by: Actor, { id }: { id: string }) => by.post(`${path}/${id}/verify`);
export const read = async (by: Actor, { id }: { id: string }) => (await by.get(`${path}/${id}`)).body;

/** A service with a name server and a mail server of its own. */
export async function setupSenders() {
  const names = await startNameServer();
  const mail = await startReceiver();
  const t = await setup({
    DNS_SERVER: names.address,
    SMTP_URL: mail.url,
    MAIL_FROM: "Steward <service@steward.test>",
  });
  const { platform } = t.steward;
  const { sql } = platform;

  /** The mail that `recipient` gets. */
  const mailFor = (recipient: string) =>
    until(() => mail.received.find(({ to }) => to.includes(recipient)), Boolean, {
      what: `a mail for ${recipient}`,
    });

  return {
    t,
    names,
    mail,
    mailFor,
    manager: () => t.actor({ permissions: ["manage:settings", "send:notifications"] }),

    /** A verified sender of a new domain. */
    async verified(by: Actor, address = `orders@${newDomain()}`, name: string | null = null) {
      const sender = await add(by, { address, name });
      names.records.set(sender.dnsRecord.name, ["v=spf1 -all", sender.dnsRecord.value]);
      const { body } = await verify(by, sender);
      assert.equal(body.status, "Verified");
      return body;
    },

    /** Checks a sender now. The service's own job may be the one that does it. */
    async checkNow({ id }: { id: string }) {
      const [due] = await sql<{ at: Date }[]>`
        update notification_senders set next_check_at = now() - interval '1 second' where id = ${id}
        returning now() - interval '1 millisecond' as at`;
      while (await checkDueSender(platform) > 0);
      await until(async () => {
        const [row] = await sql`
          select checked_at >= ${due?.at ?? null} as is_checked from notification_senders where id = ${id}`;
        return row?.isChecked;
      });
    },

    async send(by: Actor, recipient: string) {
      const sent = await by.post("/api/v1/notifications/send", {
        channel: "Email",
        recipients: [{ address: recipient }],
        subject: "Hello",
        textBody: "Hello",
      });
      assert.equal(sent.status, 200);
      return (await mailFor(recipient))!;
    },

    async stop() {
      await t.stop();
      await mail[Symbol.asyncDispose]();
      names.stop();
    },
  };
}
