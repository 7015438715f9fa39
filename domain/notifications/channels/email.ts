import {
  type MailAddress,
  MailDeliveryFailed,
  type MailMessage,
  type MailTransport,
} from "../../../infra/mail/mail.ts";
import type { Platform } from "../../shared/platform.ts";
import { addressDomain, addressKey } from "../addresses.ts";
import type { Content } from "../content.ts";
import type { HeldNotification, HeldRecipient } from "../delivery_ledger.ts";
import { type Provider, ProviderFailed, type RecipientAnswer } from "../failover.ts";

const FROM = /^\s*(?:"?([^"<>]*?)"?\s*)<([^<>\s]+)>\s*$/;

/** The mail servers in failover order, each sending this message under its one Message-ID. */
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
          ...{
            accepted: false,
            reason: refusal.reason,
            permanent: refusal.permanent,
            isRecipientError: true,
          },
          isTransient: !refusal.permanent,
        }
        : others;
    });
  };
  try {
    const receipt = await transport.send(mailOf(p, held, content, owed), signal);
    return answers(receipt.refused, { accepted: true });
  } catch (error) {
    if (!(error instanceof MailDeliveryFailed)) throw error;
    if (error.isTooLarge && content.linked) {
      return await deliver(p, transport, held, await content.linked(), owed, signal);
    }
    if (!error.permanent) {
      p.log.warn("a mail server did not take a message", { provider: transport.name, error });
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

/** Did no answer come, or one about the server or our account, rather than about this mail? 421: it is closing. */
const isUnavailable = ({ code, responseCode, permanent }: MailDeliveryFailed): boolean =>
  !permanent && (responseCode === 421 || code !== "EMESSAGE" && code !== "EENVELOPE");

/** Codes of a mail server that cannot be reached, falls silent or hangs up. */
const NO_ANSWER = ["ECONNECTION", "EDNS", "ETIMEDOUT", "ESOCKET", "EPROTOCOL", "ETLS"];

/** Does what stands in the way end by itself, or by work on the server? It does where the server said so or said nothing. */
const isOutage = ({ code, responseCode, permanent }: MailDeliveryFailed): boolean =>
  !permanent && (responseCode !== null || NO_ANSWER.includes(code));

function mailOf(p: Platform, held: HeldNotification, content: Content, owed: HeldRecipient[]): MailMessage {
  const sender = defaultSender(p.config.MAIL_FROM);
  const from = held.fromAddress
    ? { address: held.fromAddress, displayName: held.fromName }
    : { ...sender, displayName: held.fromName ?? sender.displayName };
  const named = (kind: HeldRecipient["kind"]): MailAddress[] =>
    owed.filter((recipient) => recipient.kind === kind).map(({ address, displayName }) => ({
      address,
      displayName,
    }));
  return {
    // always the service's own domain, so that the id stays the same whoever the sender of a message is said to be
    messageId: `${held.id}@${addressDomain(sender.address)}`,
    from,
    ...{ to: named("to"), cc: named("cc"), bcc: named("bcc") },
    subject: content.subject ?? "",
    ...{ html: content.html, text: content.text },
    headers: content.headers ?? {},
    attachments: content.attachments,
  };
}

/** MAIL_FROM: `Name <address>` or an address. */
export function defaultSender(setting: string): MailAddress {
  const [, name, address] = FROM.exec(setting) ?? [];
  return { address: address ?? setting.trim(), displayName: name || null };
}
