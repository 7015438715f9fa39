import { join } from "node:path";
import { type Clock, systemClock } from "./clock.ts";
import type { Config } from "./config.ts";
import type { MailTransport } from "./mail/mail.ts";
import { openOutbox, type Outbox } from "./mail/outbox.ts";
import { createFcm } from "./push/fcm.ts";
import { outboxPush, type PushTransport } from "./push/push.ts";
import { outboxSms, type SmsTransport } from "./sms/sms.ts";
import { createTwilio } from "./sms/twilio.ts";

/** The providers of each channel in failover order; empty if none is configured. */
export interface Providers {
  mail: MailTransport[];
  push: PushTransport[];
  sms: SmsTransport[];
  /** The outbox of development; null in production. */
  outbox: Outbox | null;
}

/** Opens the configured providers. In development, the outbox replaces missing ones; in production it never does. */
export async function openProviders(config: Config, clock: Clock = systemClock): Promise<Providers> {
  const now = () => clock.now();
  const outbox = config.isProduction ? null : await openOutbox(join(config.DATA_DIR, "outbox"), { now });
  const mail = await openMail(config.SMTP_URL ?? [], clock);
  const push = config.FCM_SERVICE_ACCOUNT
    ? [createFcm(config.FCM_SERVICE_ACCOUNT, { url: config.FCM_URL, now: () => clock.now().getTime() })]
    : [];
  const sms = (config.SMS_URL ?? []).map((url, index) => createTwilio(url, numbered("sms", index)));
  if (!outbox) return { mail, push, sms, outbox };
  return {
    mail: mail.length > 0 ? mail : [outbox.mail],
    push: push.length > 0 ? push : [outboxPush(outbox)],
    sms: sms.length > 0 ? sms : [outboxSms(outbox)],
    outbox,
  };
}

/** Opens the SMTP servers. The mail library is loaded only if there is one. */
async function openMail(urls: string[], clock: Clock): Promise<MailTransport[]> {
  if (urls.length === 0) return [];
  const { createSmtpTransport } = await import("./mail/smtp.ts");
  return urls.map((url, index) => createSmtpTransport(url, { name: numbered("smtp", index), clock }));
}

/** Provider names are numbered and contain no host name, because tenants can read them in delivery attempts. */
const numbered = (name: string, index: number): string => index === 0 ? name : `${name}-${index + 1}`;
