import type { Outbox } from "../mail/outbox.ts";

/** A text message for one number (E.164). */
export interface SmsMessage {
  to: string;
  text: string;
  /** URL that the provider reports the delivery to; absent: it does not. */
  statusCallback?: string | null;
}

/** A way to send text messages. */
export interface SmsTransport {
  readonly name: string;
  /** Sends the message. Throws SmsRefused, or another error if the provider could not be used at all. */
  send(message: SmsMessage, signal?: AbortSignal): Promise<void>;
}

/**
 * The provider did not accept a message. `permanent`: the same message would be refused again. `stopsBatch`: other
 * messages would fail now too; `retryAfterMs` is the provider's Retry-After. `isUnreachable`: the provider could not be
 * reached, did not answer, or answered that it is overloaded, has failed itself or refuses the credentials.
 */
export class SmsRefused extends Error {
  override readonly name = "SmsRefused";
  readonly permanent: boolean;
  readonly stopsBatch: boolean;
  readonly retryAfterMs: number | null;
  readonly isUnreachable: boolean;

  constructor(
    message: string,
    o: { permanent?: boolean; stopsBatch?: boolean; retryAfterMs?: number | null; isUnreachable?: boolean },
  ) {
    super(message);
    this.isUnreachable = o.isUnreachable ?? false;
    this.permanent = o.permanent ?? false;
    this.stopsBatch = o.stopsBatch ?? false;
    this.retryAfterMs = o.retryAfterMs ?? null;
  }
}

/** Stores text messages in the development outbox. */
export function outboxSms(outbox: Outbox): SmsTransport {
  return {
    name: "outbox",
    async send({ to, text }) {
      await outbox.add({ channel: "Sms", to: [to], subject: null, htmlBody: null, textBody: text });
    },
  };
}
