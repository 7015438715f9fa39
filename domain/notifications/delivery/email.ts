import {
  type MailAddress,
  MailDeliveryFailed,
  type MailMessage,
  type MailTransport,
} from "../../../infra/mail/mail.ts";
import { mailDomain } from "../../../infra/mail/mail_address.ts";
import { parseMailFrom } from "../../../infra/mail/mail_from.ts";
import { senderFor } from "../../looks/senders/mail_sender.ts";
import type { Platform } from "../../shared/platform.ts";
import { addressKey } from "../addresses.ts";
import { type Content, looksTenantOf } from "../content.ts";
import type { HeldNotification, HeldRecipient } from "../delivery_ledger.ts";
import { feedbackHeaders } from "../feedback/adapters.ts";
import { type Provider, ProviderFailed, type RecipientAnswer } from "./failover.ts";

/** The mail servers in failover order. All send the message under the same Message-ID. */
export function emailProviders(p: Platform, held: HeldNotification, content: Content): Provider[] {
  return p.mail.map((transport) => ({
    name: transport.name,
    deliver: (owed, signal) => deliver(p, transport, held, content, owed, signal),
  }));
}

async function deliver(
  p: Platform,
  transport: MailTransport,
  held: HeldNotification,
  content: Content,
  owed: HeldRecipient[],
  signal?: AbortSignal,
): Promise<RecipientAnswer[]> {
  const key = (address: string) => addressKey("Email", address);
  const answers = (
    refused: { address: string; reason: string; permanent: boolean }[],
    others: RecipientAnswer,
  ) => {
    const byAddress = new Map(refused.map((refusal) => [key(refusal.address), refusal]));
    return owed.map(({ address }): RecipientAnswer => {
      const refusal = byAddress.get(key(address));
      return refusal
        ? {
          accepted: false,
          reason: refusal.reason,
          permanent: refusal.permanent,
          isRecipientError: true,
          isTransient: !refusal.permanent,
        }
        : others;
    });
  };
  try {
    const receipt = await transport.send(await mailOf(p, held, content, owed), signal);
    return answers(receipt.refused, { accepted: true });
  } catch (error) {
    if (!(error instanceof MailDeliveryFailed)) throw error;
    if (error.isTooLarge && content.linked) {
      return await deliver(p, transport, held, await content.linked(), owed, signal);
    }
    if (!error.permanent) {
      p.log.warn("a mail server did not accept a message", { provider: transport.name, error });
    }
    const isTransient = isOutage(error);
    if (error.refused.length === 0) {
      throw new ProviderFailed(error.reason, error.permanent, {
        isUnavailable: isUnavailable(error),
        isTransient,
      });
    }
    return answers(error.refused, { accepted: false, reason: error.reason, permanent: false, isTransient });
  }
}

/** True if the failure is about the server or the account, not about this mail. 421: the server is shutting down. */
const isUnavailable = ({ code, responseCode, permanent }: MailDeliveryFailed): boolean =>
  !permanent && (responseCode === 421 || code !== "EMESSAGE" && code !== "EENVELOPE");

/** Error codes of a mail server that is unreachable, times out, closes the connection or offers no sign-in. */
const NO_ANSWER = ["EAUTH", "ECONNECTION", "EDNS", "ETIMEDOUT", "ESOCKET", "EPROTOCOL", "ETLS"];

/** True if the failure is temporary: the server gave a temporary refusal, or no answer. */
const isOutage = ({ code, responseCode, permanent }: MailDeliveryFailed): boolean =>
  !permanent && (responseCode !== null || NO_ANSWER.includes(code));

async function mailOf(
  p: Platform,
  held: HeldNotification,
  content: Content,
  owed: HeldRecipient[],
): Promise<MailMessage> {
  const { tenantId, fromAddress: address, fromName: name } = held;
  const { from, sender, replyTo } = await senderFor(p, tenantId, { address, name }, looksTenantOf(held));
  const answersTo = held.replyTo ?? replyTo;
  const shown = isOneMail(held) ? shownRecipients(held, owed) : owed;
  const named = (kind: HeldRecipient["kind"]): MailAddress[] =>
    shown.filter((recipient) => recipient.kind === kind).map(({ address, displayName }) => ({
      address,
      displayName,
    }));
  return {
    // The domain is always that of MAIL_FROM, so that the id does not depend on the message's sender address.
    messageId: `${held.id}@${mailDomain(parseMailFrom(p.config.MAIL_FROM).address)}`,
    from,
    sender,
    to: named("to"),
    cc: named("cc"),
    bcc: named("bcc"),
    deliverTo: owed.map(({ address }) => address),
    replyTo: answersTo === null ? null : { address: answersTo, displayName: null },
    subject: content.subject ?? "",
    html: content.html,
    text: content.text,
    headers: { ...content.headers, ...feedbackHeaders(p.config, held.id) },
    attachments: content.attachments,
  };
}

/** Servers may limit a mail to 100 recipients (RFC 5321, 4.5.3.1.8), and some limit it to 50. */
export const MAX_RECIPIENTS_PER_MAIL = 50;

/** True if all recipients of a message get the same mail: it has cc or bcc. */
export const isOneMail = ({ recipients }: Pick<HeldNotification, "recipients">): boolean =>
  recipients.length <= MAX_RECIPIENTS_PER_MAIL && recipients.some(({ kind }) => kind !== "to");

/** The recipients that the headers of one mail name: those who get it now, and those who have got it already. */
function shownRecipients(held: HeldNotification, owed: HeldRecipient[]): HeldRecipient[] {
  const now = new Map(owed.map((recipient) => [recipient.id, recipient]));
  return held.recipients.flatMap((recipient) => {
    const shown = now.get(recipient.id) ?? recipient;
    return now.has(recipient.id) || recipient.status === "Sent" ? [shown] : [];
  });
}
