import { problem } from "../../problems/problem.ts";
import type { NotificationPlatform } from "../platform.ts";
import type { NotificationChannel } from "../status.ts";

/**
 * Refuses a message when it is accepted if no provider is configured for its channel.
 * @throws NOTIFICATION_CHANNEL_NOT_CONFIGURED
 */
export function requireChannel(
  p: Pick<NotificationPlatform, "mail" | "push" | "sms" | "channelProviders">,
  channel: NotificationChannel,
): void {
  if (channel === "InApp" || p.channelProviders.some((provider) => provider.channel === channel)) return;
  const configured = new Map([["Email", p.mail.length], ["Push", p.push.length], ["Sms", p.sms.length]]);
  if (configured.get(channel)) return;
  throw problem(
    "NOTIFICATION_CHANNEL_NOT_CONFIGURED",
    `No provider is configured for the channel ${channel}.`,
  );
}
