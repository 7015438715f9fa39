import type { Log } from "../../infra/log.ts";
import type { NotificationChannel } from "./status.ts";

/** A message for one recipient, as a provider of an extension gets it. */
export interface ChannelMessage {
  /** The id of the notification. It is equal at every attempt and with every provider. */
  notificationId: string;
  recipient: { address: string; displayName: string | null };
  subject: string | null;
  /** Made from the HTML if the message has no text. */
  text: string | null;
  html: string | null;
  /** The `templateData` of the message. */
  data: Record<string, unknown>;
  /** The number of the job's attempt, from 1; 0 for a direct message. */
  attempt: number;
}

export interface SendContext {
  /** Null: a message of the service itself. */
  tenantId: string | null;
  /** Aborted when the attempt must end. */
  signal: AbortSignal;
  log: Log;
}

/** The reason why a provider did not accept a message. The sender can read `reason`. */
export interface SendProblem {
  reason: string;
  /** A retry, or another provider, would be refused too. */
  isPermanent?: boolean;
  /** The provider's Retry-After. */
  retryAfterMs?: number | null;
  /** The provider cannot be used at all. It gets no further recipients, and waiting for it uses up no retry. */
  isUnavailable?: boolean;
}

/** `providerMessageId` is written to the log at level debug. */
export type SendAnswer = { providerMessageId: string | null } | { problem: SendProblem };

/** A provider that an extension adds to a channel. */
export interface ChannelProvider {
  channel: NotificationChannel;
  name: string;
  /** Sends a message to one recipient. What it throws is a temporary failure, except OutboundRefused. */
  send(message: ChannelMessage, context: SendContext): Promise<SendAnswer>;
}
