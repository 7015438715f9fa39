// Fakes of all providers, and one service that uses them. The test files of a worker share both.
import { generateKeyPairSync } from "node:crypto";
import { answer, startReceiver } from "../../infra/mail/receiver.ts";
import { startFcm } from "../../support/fcm.ts";
import { setupShared, type TestService } from "../../support/setup.ts";
import { startSmsGateway } from "../../support/sms_gateway.ts";
import { TcpProxy } from "../../support/tcp_proxy.ts";
import { afterAllFiles } from "../../support/test_files.ts";

/** Answers of the mail server by address; without one it refuses `code450@…` with that code and accepts all others. */
export const answers = new Map<string, string>();
/** Addresses of all recipients that were given to the mail server. */
export const asked: string[] = [];
export const receiver = await startReceiver({
  onRcptTo({ address }, _session, callback) {
    asked.push(address);
    const code = /^code(\d{3})@/.exec(address)?.[1];
    const text = answers.get(address) ?? (code ? `${code} refused as asked` : "250 ok");
    callback(text.startsWith("250") ? null : answer(Number(text.slice(0, 3)), text.slice(4)));
  },
});
export const mailNetwork = await TcpProxy.start({ hostname: "127.0.0.1", port: receiver.port });
export const gateways = [startSmsGateway(), startSmsGateway({ sender: "messagingService=MG2" })] as const;
export const fcm = await startFcm();
const keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
/** With what the providers prove that a report about a delivery is theirs. */
export const secrets = {
  twilio: "twilio-auth-token-0123456789",
  sendgrid: keys.privateKey,
  mailgun: "mailgun-key-0123456789",
  postmark: "steward:a-long-password-0",
  // published as an example, not a secret
  standardWebhooks: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
};
afterAllFiles(async () => {
  for (const each of [mailNetwork, receiver, ...gateways, fcm]) await each[Symbol.asyncDispose]();
});

export const setupProviders = (): Promise<TestService> =>
  setupShared({
    SMTP_URL: `smtp://127.0.0.1:${mailNetwork.port}`,
    MAIL_FROM: "Steward <service@steward.test>",
    SMS_URL: `${gateways[0].smsUrl}, ${gateways[1].smsUrl}`,
    FCM_SERVICE_ACCOUNT: JSON.stringify(fcm.account),
    FCM_URL: fcm.url,
    NOTIFICATION_ATTACHMENTS_MAX_BYTES: "4000",
    NOTIFICATION_FEEDBACK_TWILIO: secrets.twilio,
    NOTIFICATION_FEEDBACK_SENDGRID: keys.publicKey.export({ type: "spki", format: "der" }).toString("base64"),
    NOTIFICATION_FEEDBACK_MAILGUN: secrets.mailgun,
    NOTIFICATION_FEEDBACK_POSTMARK: secrets.postmark,
    NOTIFICATION_FEEDBACK_STANDARD_WEBHOOKS: secrets.standardWebhooks,
  }, { inThisProcess: true });

/** Mails that the mail server has accepted for this address. */
export const mailTo = (address: string) => receiver.received.filter(({ to }) => to.includes(address));
/** Mails of a notification that the mail server has accepted. */
export const mailsOf = (id: string) =>
  receiver.received.filter(({ raw }) => raw.includes(`Message-ID: <${id}@steward.test>`));
export const header = (raw = "", name: string): string | null =>
  new RegExp(`^${name}:(.*(?:\r?\n[ \t].*)*)`, "im").exec(raw)?.[1]?.replaceAll(/\r?\n[ \t]+/g, "").trim() ??
    null;
