import type { Outbox } from "../mail/outbox.ts";

/** A push message for one or more devices. `data` is extra data for the app. */
export interface PushMessage {
  title: string | null;
  body: string | null;
  data: Record<string, string>;
  tokens: string[];
}

export interface RefusedToken {
  token: string;
  reason: string;
  /** True if the same message would be refused again for this token. */
  permanent: boolean;
  /** True if the token is invalid, so every message to it would be refused. */
  isDead: boolean;
}

/** The result for each token. A token in neither list was not tried. */
export interface PushReceipt {
  accepted: string[];
  refused: RefusedToken[];
  /** The provider's Retry-After in milliseconds; null if absent. */
  retryAfterMs: number | null;
  /** The provider could not be reached, did not answer, or is unavailable. This is why the remaining tokens were not tried. */
  isUnreachable?: boolean;
}

/** A way to send push messages. */
export interface PushTransport {
  readonly name: string;
  /** Sends the message to every token. Throws if the provider could not be used at all. */
  send(message: PushMessage, signal?: AbortSignal): Promise<PushReceipt>;
}

/** Stores push messages in the development outbox. */
export function outboxPush(outbox: Outbox): PushTransport {
  return {
    name: "outbox",
    async send({ title, body, tokens }) {
      await outbox.add({ channel: "Push", to: tokens, subject: title, htmlBody: null, textBody: body });
      return { accepted: tokens, refused: [], retryAfterMs: null };
    },
  };
}
