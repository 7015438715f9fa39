import { outboxSms, SmsRefused, type SmsTransport } from "../../../infra/sms/sms.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Content } from "../content.ts";
import { type Provider, ProviderFailed, type RecipientAnswer } from "../failover.ts";

/** The text message services in failover order. */
export function smsProviders(p: Platform, content: Content): Provider[] {
  return transportsOf(p).map((transport) => ({
    name: transport.name,
    async deliver(owed, signal) {
      const text = content.text ?? content.subject;
      if (!text) throw new ProviderFailed("the message has no text", true);
      const answers: RecipientAnswer[] = [];
      for (const { address } of owed) answers.push(await answerOf(transport, address, text, signal));
      return answers;
    },
  }));
}

async function answerOf(
  transport: SmsTransport,
  to: string,
  text: string,
  signal?: AbortSignal,
): Promise<RecipientAnswer> {
  try {
    signal?.throwIfAborted();
    await transport.send({ to, text }, signal);
    return { accepted: true };
  } catch (error) {
    const permanent = error instanceof SmsRefused && error.permanent;
    return { accepted: false, reason: (error as Error).message, permanent };
  }
}

const transportsOf = (p: Platform): SmsTransport[] => p.outbox ? [outboxSms(p.outbox)] : [];
