import type { Outbox } from "../mail/outbox.ts";

/** A push message for one or more devices. `data` travels beside the text, for the app to act on. */
export interface PushMessage {
  title: string | null;
  body: string | null;
  data: Record<string, string>;
  tokens: string[];
}

export interface RefusedToken {
  token: string;
  reason: string;
  /** True when the same message would be refused again for this token. */
  permanent: boolean;
  /** True when no message will ever reach this token. */
  isDead: boolean;
}

/** What became of each token; one in neither list was not tried. */
export interface PushReceipt {
  accepted: string[];
  refused: RefusedToken[];
  /** How long the provider asks to be left alone, where it does. */
  retryAfterMs: number | null;
  /** It could not be reached, or did not answer; who is in neither list was not tried for that reason. */
  isUnreachable?: boolean;
}

/** A way to send push messages. */
export interface PushTransport {
  readonly name: string;
  /** Hands the message over for every token, or throws when the provider could not be used at all. */
  send(message: PushMessage, signal?: AbortSignal): Promise<PushReceipt>;
}

/** Keeps push messages in the development outbox. */
export function outboxPush(outbox: Outbox): PushTransport {
  return {
    name: "outbox",
    async send({ title, body, tokens }) {
      await outbox.add({ channel: "Push", to: tokens, subject: title, htmlBody: null, textBody: body });
      return { accepted: tokens, refused: [], retryAfterMs: null };
    },
  };
}
