import { forEachConcurrent } from "../../../infra/http_out/provider_http.ts";
import {
  type MailAddress,
  MailDeliveryFailed,
  type MailMessage,
  type MailTransport,
} from "../../../infra/mail/mail.ts";
import { mailDomain, parseMailFrom } from "../../../infra/mail/mail_address.ts";
import { senderFor } from "../../looks/senders/mail_sender.ts";
import type { Platform } from "../../shared/platform.ts";
import { addressKey } from "../addresses.ts";
import { type Content, looksTenantOf } from "../content.ts";
import type { HeldNotification, HeldRecipient } from "../delivery_ledger.ts";
import { feedbackHeaders } from "../feedback/adapters.ts";
import type { Message } from "../message.ts";
import type { NotificationPlatform } from "../platform.ts";
import { unsubscribeUrl } from "../unsubscribe.ts";
import { failureAnswer, type Provider, ProviderFailed, type RecipientAnswer } from "./failover.ts";

/** Number of mails of one message that are sent at the same time. */
const CONCURRENCY = 5;
/** Replaced by each recipient's own link when the mail is sent, so that the stored message contains no one's link. */
const PLACEHOLDER = "https://unsubscribe.invalid/3f0c9c52a1";

/**
 * Adds `unsubscribeUrl` to the template data of a mail with a category if all its recipients are known users who get
 * mails of their own.
 */
export function addUnsubscribePlaceholder(message: Message): Message {
  const { channel, category, templateSlug, templateData, recipients } = message;
  const isForAll = channel === "Email" && category && templateSlug &&
    recipients.every((r) => r.userId && (r.kind ?? "to") === "to");
  if (!isForAll || templateData?.unsubscribeUrl !== undefined) return message;
  return { ...message, templateData: { ...templateData, unsubscribeUrl: PLACEHOLDER } };
}

/** Replaces the placeholder in a text with one recipient's link. */
export const insertUnsubscribeUrl = (text: string, url: string): string => text.replaceAll(PLACEHOLDER, url);

/**
 * The mail servers in failover order. Each user gets a separate mail, so that users do not see each other; if the message
 * has a category, it carries the user's own unsubscribe link (RFC 8058). Recipients who are not users share one mail per
 * fifty. All recipients of a message with cc or bcc share one mail.
 */
export function userMailProviders(
  p: NotificationPlatform,
  held: HeldNotification,
  content: Content,
): Provider[] {
  return emailProviders(p, held, content).map((shared, index) => ({
    name: shared.name,
    async deliver(owed, signal) {
      // An error of one mail must not lose the outcomes of the others.
      const answersOf = async (count: number, deliver: () => Promise<RecipientAnswer[]>) => {
        try {
          return await deliver();
        } catch (error) {
          return Array.from({ length: count }, () => failureAnswer(error, shared.name, p.log));
        }
      };
      const isShared = isOneMail(held);
      const isOwn = (r: HeldRecipient) =>
        !isShared && r.userId !== null && (held.category !== null || r.followsUser);
      const answers = new Map<string, RecipientAnswer>();
      const others = owed.filter((recipient) => !isOwn(recipient));
      for (let from = 0; from < others.length && !signal?.aborted; from += MAX_RECIPIENTS_PER_MAIL) {
        const batch = others.slice(from, from + MAX_RECIPIENTS_PER_MAIL);
        const given = await answersOf(batch.length, () => shared.deliver(batch, signal));
        batch.forEach(({ id }, at) => answers.set(id, given[at] ?? UNTRIED));
        if (given.some(isUnavailable)) break;
      }
      await forEachConcurrent(owed.filter(isOwn), CONCURRENCY, async (recipient) => {
        if (signal?.aborted) return "stop";
        const [answer = UNTRIED] = await answersOf(1, async () => {
          const provider = emailProviders(p, ...await ownMail(p, held, content, recipient))[index];
          return await provider?.deliver([recipient], signal) ?? [];
        });
        answers.set(recipient.id, answer);
        if (isUnavailable(answer)) return "stop";
      });
      return owed.map(({ id }) => answers.get(id) ?? UNTRIED);
    },
  }));
}

const UNTRIED: RecipientAnswer = {
  accepted: false,
  reason: "the mail was not offered to the mail server for this recipient",
  permanent: false,
};

const isUnavailable = (answer: RecipientAnswer): boolean => !answer.accepted && Boolean(answer.isUnavailable);

/** The mail of one user. Its Message-ID is the recipient's id, which is the same at every attempt. */
export async function ownMail(
  p: NotificationPlatform,
  held: HeldNotification,
  content: Content,
  { id, userId }: HeldRecipient,
): Promise<[HeldNotification, Content]> {
  if (held.category === null || userId === null) return [{ ...held, id }, content];
  const url = await unsubscribeUrl(p, { userId, category: held.category, tenantId: held.tenantId });
  const filled = (text: string | null) => text === null ? null : insertUnsubscribeUrl(text, url);
  const headers = { "List-Unsubscribe": `<${url}>`, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" };
  const own = ({ linked, ...content }: Content): Content => ({
    ...content,
    html: filled(content.html),
    text: filled(content.text),
    headers,
    ...(linked ? { linked: async () => own(await linked()) } : {}),
  });
  return [{ ...held, id }, own(content)];
}

/** The mail servers in failover order. All send the message under the same Message-ID. */
function emailProviders(p: Platform, held: HeldNotification, content: Content): Provider[] {
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
        isUnavailable: isMailServerDown(error),
        isTransient,
      });
    }
    return answers(error.refused, { accepted: false, reason: error.reason, permanent: false, isTransient });
  }
}

/** True if the failure is about the server or the account, not about this mail. 421: the server is shutting down. */
const isMailServerDown = ({ code, responseCode, permanent }: MailDeliveryFailed): boolean =>
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
