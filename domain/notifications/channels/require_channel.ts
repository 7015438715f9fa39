import { problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import type { NotificationChannel } from "../status.ts";

/**
 * Refuses a message when it is accepted if no provider is configured for its channel.
 * @throws NOTIFICATION_CHANNEL_NOT_CONFIGURED
 */
export function requireChannel(
  p: Pick<Platform, "mail" | "push" | "sms">,
  channel: NotificationChannel,
): void {
  const providers = { Email: p.mail, Push: p.push, Sms: p.sms, InApp: null }[channel];
  if (providers === null || providers.length > 0) return;
  throw problem(
    "NOTIFICATION_CHANNEL_NOT_CONFIGURED",
    `No provider is configured for the channel ${channel}.`,
  );
}
