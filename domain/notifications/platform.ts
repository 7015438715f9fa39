import type { Sql } from "../../infra/postgres/postgres.ts";
import type { TemplatePlatform } from "../templates/platform.ts";
import type { AttachedFiles } from "./attached_files.ts";
import type { ChannelProvider } from "./channel_provider.ts";
import type { OutgoingMessage } from "./store_notification.ts";
import type { UnsubscribeTokens } from "./unsubscribe_token.ts";
import type { UserWakeUps } from "./user_wake_up.ts";

export interface NotificationPlatform extends TemplatePlatform {
  /** Writes single messages of many requests in shared commits. */
  messageWriter: { write(q: Sql, message: OutgoingMessage): Promise<string> };
  /** Wakes the open streams of in-app notifications on this instance. */
  userWakeUps: UserWakeUps;
  attachedFiles: AttachedFiles;
  unsubscribeTokens: UnsubscribeTokens;
  /** Running deliveries of direct messages, also those whose request was already answered `Sending`. */
  directDeliveries: Set<Promise<unknown>>;
  /** The providers of extensions. Each channel tries them after its configured ones. */
  channelProviders: readonly ChannelProvider[];
}
