import type { Sql } from "../../infra/postgres/postgres.ts";
import type { LooksPlatform } from "../looks/platform.ts";
import type { AttachedFiles } from "./attached_files.ts";
import type { ChannelProvider } from "./channels/channel_provider.ts";
import type { UserWakeUps } from "./in_app/user_wake_up.ts";
import type { RenderThreads } from "./rendering/mod.ts";
import type { OutgoingMessage } from "./store_notification.ts";

export interface NotificationPlatform extends LooksPlatform {
  /** Writes single messages of many requests in shared commits. */
  messageWriter: { write(sql: Sql, message: OutgoingMessage): Promise<string> };
  /** Wakes the open streams of in-app notifications on this instance. */
  userWakeUps: UserWakeUps;
  /** Worker threads that render templates. */
  renderThreads: RenderThreads;
  attachedFiles: AttachedFiles;
  /** The providers of extensions. Each channel tries them after its configured ones. */
  channelProviders: readonly ChannelProvider[];
}
