import { join } from "node:path";
import { type Clock, systemClock } from "../domain/shared/clock.ts";
import type { Config } from "./config.ts";
import type { MailTransport } from "./mail/mail.ts";
import { openOutbox, type Outbox } from "./mail/outbox.ts";
import { createFcm } from "./push/fcm.ts";
import { outboxPush, type PushTransport } from "./push/push.ts";
import { outboxSms, type SmsTransport } from "./sms/sms.ts";
import { createTwilio } from "./sms/twilio.ts";

/** Ways out of the house by channel, each in failover order; none where nothing is configured. */
export interface Providers {
  mail: MailTransport[];
  push: PushTransport[];
  sms: SmsTransport[];
  /** Development's own; null where messages really leave. */
  outbox: Outbox | null;
}

/** Opens what the configuration names. The outbox stands in for what is absent in development, never in production. */
export async function openProviders(config: Config, clock: Clock = systemClock): Promise<Providers> {
  const outbox = config.isProduction ? null : await openOutbox(join(config.DATA_DIR, "outbox"));
  const mail = await openMail(config.SMTP_URL ?? [], clock);
  const push = config.FCM_SERVICE_ACCOUNT
    ? [createFcm(config.FCM_SERVICE_ACCOUNT, { url: config.FCM_URL, now: () => clock.now().getTime() })]
    : [];
  const sms = (config.SMS_URL ?? []).map((url, index) => createTwilio(url, nth("sms", index)));
  if (!outbox) return { mail, push, sms, outbox };
  return {
    mail: mail.length > 0 ? mail : [outbox.mail],
    push: push.length > 0 ? push : [outboxPush(outbox)],
    sms: sms.length > 0 ? sms : [outboxSms(outbox)],
    outbox,
  };
}

/** The mail library is loaded only where mail leaves by SMTP. */
async function openMail(urls: string[], clock: Clock): Promise<MailTransport[]> {
  if (urls.length === 0) return [];
  const { createSmtpTransport } = await import("./mail/smtp.ts");
  return urls.map((url, index) => createSmtpTransport(url, { name: nth("smtp", index), clock }));
}

/** Providers are told apart by their place in the order: their hosts are nobody's business but the operator's. */
const nth = (name: string, index: number): string => index === 0 ? name : `${name}-${index + 1}`;
