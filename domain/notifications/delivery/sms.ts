import { forEachConcurrent } from "../../../infra/http_out/provider_http.ts";
import { SmsRefused, type SmsTransport } from "../../../infra/sms/sms.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Content } from "../content.ts";
import type { HeldRecipient } from "../delivery_ledger.ts";
import { statusCallback } from "../feedback/adapters.ts";
import { smsText, smsTextMistake } from "../sms_text.ts";
import { type Provider, ProviderFailed, type RecipientAnswer } from "./failover.ts";

/** Number of text messages of one notification that are sent at the same time. */
const CONCURRENCY = 5;

/** The SMS gateways in failover order. */
export function smsProviders(p: Platform, content: Content): Provider[] {
  return p.sms.map((transport) => ({
    name: transport.name,
    async deliver(owed, signal) {
      const text = smsText(content);
      const mistake = smsTextMistake(text);
      if (mistake) throw new ProviderFailed(mistake, true);
      return await sendToAll(p, transport, owed, text, signal);
    },
  }));
}

async function sendToAll(
  p: Pick<Platform, "config" | "baseUrl">,
  transport: SmsTransport,
  owed: HeldRecipient[],
  text: string,
  signal?: AbortSignal,
): Promise<RecipientAnswer[]> {
  const untried = {
    accepted: false as const,
    reason: "the message was not sent to this number in this attempt",
    permanent: false,
  };
  const answers = new Map<HeldRecipient, RecipientAnswer>();
  let retryAfterMs: number | null = null;
  let isUnreachable = false;
  await forEachConcurrent(owed, CONCURRENCY, async (recipient) => {
    if (signal?.aborted) return "stop";
    try {
      const callback = statusCallback(p.config, p.baseUrl(), recipient.id);
      await transport.send({ to: recipient.address, text, statusCallback: callback }, signal);
      answers.set(recipient, { accepted: true });
    } catch (error) {
      // If the run is aborted, this number stays untried, and the answers for the others are still returned.
      if (!(error instanceof SmsRefused)) {
        if (signal?.aborted) return "stop";
        throw error;
      }
      const { message: reason, permanent } = error;
      answers.set(recipient, { accepted: false, reason, permanent, isTransient: error.isUnreachable });
      isUnreachable ||= error.isUnreachable;
      retryAfterMs = Math.max(retryAfterMs ?? 0, error.retryAfterMs ?? 0) || null;
      if (error.stopsBatch) return "stop";
    }
  });
  return owed.map((recipient) => {
    const answer = answers.get(recipient) ?? { ...untried, isTransient: isUnreachable };
    return answer.accepted ? answer : { ...answer, retryAfterMs };
  });
}
