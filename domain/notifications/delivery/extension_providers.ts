import { OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { forEachConcurrent } from "../../../infra/http_out/provider_http.ts";
import { isOutage } from "../../jobs/outage.ts";
import { shownAddress } from "../addresses.ts";
import type { ChannelProvider } from "../channel_provider.ts";
import type { Content } from "../content.ts";
import type { HeldNotification, HeldRecipient } from "../delivery_ledger.ts";
import type { NotificationPlatform } from "../platform.ts";
import { type Provider, ProviderFailed, type RecipientAnswer } from "./failover.ts";
import { ownMail } from "./unsubscribe_mail.ts";

/** Number of recipients of one notification to whom it is sent at the same time. */
const CONCURRENCY = 5;

/** The providers of extensions for a message. They get one recipient per call, and no attachments. */
export function extensionProviders(
  p: NotificationPlatform,
  held: HeldNotification,
  content: Content,
): Provider[] {
  return p.channelProviders.filter(({ channel }) => channel === held.channel).map((provider) => ({
    name: provider.name,
    async deliver(owed, signal = new AbortController().signal) {
      const sendable = content.attachments.length > 0 ? await content.linked?.() : content;
      if (!sendable) throw new ProviderFailed("this provider sends no attachments", false);
      const answers = new Map<string, RecipientAnswer>();
      let isUnavailable = false;
      await forEachConcurrent(owed, CONCURRENCY, async (recipient) => {
        if (signal.aborted) return "stop";
        const answer = await sendTo(p, provider, held, sendable, recipient, signal);
        if (answer === null) return "stop";
        answers.set(recipient.id, answer);
        isUnavailable ||= !answer.accepted && Boolean(answer.isUnavailable);
        if (isUnavailable) return "stop";
      });
      return owed.map(({ id }) => answers.get(id) ?? { ...UNTRIED, isTransient: isUnavailable });
    },
  }));
}

const UNTRIED = {
  accepted: false,
  reason: "the message was not sent to this recipient in this attempt",
  permanent: false,
} as const;

/** Sends to one recipient. @returns null if the attempt was aborted, so the recipient stays untried */
async function sendTo(
  p: NotificationPlatform,
  provider: ChannelProvider,
  held: HeldNotification,
  shared: Content,
  recipient: HeldRecipient,
  signal: AbortSignal,
): Promise<RecipientAnswer | null> {
  const { id: notificationId, tenantId, channel, attempt } = held;
  const { address, displayName } = recipient;
  const safe = (text: string) => text.replaceAll(address, shownAddress(channel, address));
  const log = p.log.with({ provider: provider.name, notificationId });
  try {
    const [, content] = channel === "Email" ? await ownMail(p, held, shared, recipient) : [held, shared];
    const { subject, text, html } = content;
    const data = held.templateData ?? {};
    const message = {
      notificationId,
      recipient: { address, displayName },
      subject,
      text,
      html,
      data,
      attempt,
    };
    const answer = await provider.send(message, { tenantId, signal, log });
    if (!("problem" in answer)) {
      log.debug("a provider accepted a message", { providerMessageId: answer.providerMessageId });
      return { accepted: true };
    }
    const { reason, isPermanent = false, retryAfterMs = null, isUnavailable = false } = answer.problem;
    return {
      accepted: false,
      reason: safe(reason),
      permanent: isPermanent,
      retryAfterMs,
      isUnavailable,
      isTransient: isUnavailable,
    };
  } catch (error) {
    if (signal.aborted) return null;
    if (error instanceof OutboundRefused) return { ...UNTRIED, reason: safe(error.message), permanent: true };
    // An address can be a secret, and the error of a library may contain it.
    log.warn("a provider failed", {
      error: safe(error instanceof Error ? error.stack ?? "" : String(error)),
    });
    return { ...UNTRIED, reason: "the message could not be handed over", isTransient: isOutage(error) };
  }
}
