import { z } from "zod";
import type { Log } from "../../infra/log.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { type BuiltInChannel, CHANNELS, type NotificationChannel } from "./status.ts";

/** A channel that an extension adds to the built-in ones. */
export interface ChannelDeclaration {
  /** PascalCase, such as `Slack`. The member of preferences is `slack`. */
  name: string;
  displayName: string;
  address: {
    /** The expected form, for the error message: `"…" is not ${expected}`. */
    expected: string;
    fits(address: string): boolean;
    /** The current addresses of users by user id. Without it, users have no address and are skipped (`NoAddress`). */
    ofUsers?(q: Sql, tenantId: string | null, userIds: string[]): Promise<ReadonlyMap<string, string>>;
  };
}

const declared = new Map<string, ChannelDeclaration>();

/** The names of all channels: the built-in ones, then those of extensions. Complete when the extensions are loaded. */
export const channelNames: NotificationChannel[] = [...CHANNELS];

/** Adds the channels of extensions to the catalogue of this process. Idempotent. */
export function declareChannels(channels: readonly ChannelDeclaration[]): void {
  for (const channel of channels) {
    if (!declared.has(channel.name)) channelNames.push(channel.name);
    declared.set(channel.name, channel);
  }
}

/** The declaration of an extension's channel; undefined for a built-in one. */
export const declaredChannel = (channel: NotificationChannel): ChannelDeclaration | undefined =>
  declared.get(channel);

export const isBuiltIn = (channel: NotificationChannel): channel is BuiltInChannel =>
  (CHANNELS as readonly string[]).includes(channel);

const BUILT_IN_DISPLAY: Record<BuiltInChannel, string> = {
  Email: "Email",
  Push: "Push",
  InApp: "In-app",
  Sms: "SMS",
};

/** The display name of a channel; its name if no loaded extension declares it. */
export const channelDisplay = (channel: NotificationChannel): string =>
  isBuiltIn(channel) ? BUILT_IN_DISPLAY[channel] : declared.get(channel)?.displayName ?? channel;

/** The member of preferences for a channel: its name in lower camel case. */
export const channelMember = (channel: NotificationChannel): string =>
  channel.slice(0, 1).toLowerCase() + channel.slice(1);

const expected = () => `expected one of ${channelNames.join(", ")}`;

/** The name of a channel. Documents list those of extensions too, because they are written after these are loaded. */
export const channelName = z.string({ error: expected }).refine((name) => channelNames.includes(name), {
  error: expected,
}).meta({ enum: channelNames });

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
