import assert from "node:assert/strict";
import { checkDueSender } from "../../../domain/looks/senders/verify.ts";
import { startReceiver } from "../../infra/mail/receiver.ts";
import { startNameServer } from "../../support/name_server.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { afterAllFiles, isOneOfSeveralFiles } from "../../support/test_files.ts";
import { until } from "../../support/until.ts";

export const path = "/api/v1/notification-senders";

let count = 0;
export const newDomain = () => `tenant${++count}.example`;

export const add = (by: Actor, body: Record<string, unknown>) => accepted(by.post(path, body), 201);
export const verify = (by: Actor, { id }: { id: string }) => by.post(`${path}/${id}/verify`);
/** Asks for a check of a sender. @returns its status */
export const statusAfterCheck = async (by: Actor, sender: { id: string }): Promise<string> =>
  (await accepted(verify(by, sender))).status;
export const read = (by: Actor, { id }: { id: string }) => accepted(by.get(`${path}/${id}`));

type Servers = Awaited<ReturnType<typeof startServers>>;
let servers: Promise<Servers> | undefined;

async function startServers() {
  const [names, mail] = [await startNameServer(), await startReceiver()];
  const stop = async () => {
    await mail[Symbol.asyncDispose]();
    names.stop();
  };
  if (isOneOfSeveralFiles()) afterAllFiles(stop);
  return { names, mail, stop };
}

/** A service with a name server and a mail server of its own, until the test file ends. Test files share them. */
export async function setupSenders() {
  const { names, mail, stop: stopServers } = await (servers ??= startServers());
  const t = await setupShared({
    DNS_SERVER: names.address,
    SMTP_URL: mail.url,
    MAIL_FROM: "Steward <service@steward.test>",
  });
  Deno.test.afterAll(async () => {
    await t.stop();
    if (!isOneOfSeveralFiles()) await stopServers();
  });
  const { platform } = t.steward;
  const { sql } = platform;

  /** The mail that `recipient` gets. */
  const mailFor = async (recipient: string) => {
    const find = () => mail.received.find(({ to }) => to.includes(recipient));
    const found = await until(find, Boolean, { what: `a mail for ${recipient}` });
    assert.ok(found);
    return found;
  };

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
      const checked = await accepted(verify(by, sender));
      assert.equal(checked.status, "Verified");
      return checked;
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

    async send(by: Actor, recipient: string, more = {}) {
      const to = { channel: "Email", recipients: [{ address: recipient }] };
      const message = { ...to, subject: "Hello", textBody: "Hello" };
      await accepted(by.post("/api/v1/notifications/send", { ...message, ...more }), 200);
      return await mailFor(recipient);
    },
  };
}
