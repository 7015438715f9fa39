import type { Sql, Tx } from "../../infra/postgres/postgres.ts";
import type { Caller } from "../rights/caller.ts";
import type { Platform } from "../shared/platform.ts";
import type { TemplatePlatform } from "../templates/platform.ts";
import type { ChannelProvider } from "./channels.ts";
import type { OutgoingMessage } from "./store_notification.ts";
import type { UnsubscribeTokens } from "./unsubscribe.ts";
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

/** The caller who attaches a file. */
export type FileReader = Pick<Caller, "tenantId" | "userId" | "permissions">;

/** A file that a message may attach. */
export interface AttachableFile {
  fileName: string;
  contentType: string;
  sizeBytes: number;
  /** The reason why the file cannot be sent now; null if it can. */
  mistake: string | null;
}

/** Reads and holds the files that messages attach. The files area provides it, because it is above this one. */
export interface AttachedFiles {
  /** Locks the files that `reader` may read, by id. A file that is left out is unknown to the reader. */
  lock(tx: Tx, reader: FileReader, fileIds: string[]): Promise<Map<string, AttachableFile>>;
  /** References locked files for a message. */
  hold(tx: Tx, reader: FileReader, notificationId: string, fileIds: string[]): Promise<void>;
  /** Releases the references of a message. */
  release(tx: Tx, notificationId: string): Promise<void>;
  /**
   * Size in bytes.
   * @throws FILE_NOT_FOUND, FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT, FILE_NOT_AVAILABLE_CONFLICT (Failed). A file
   * that is still being scanned has a size.
   */
  readSize(q: Sql, fileId: string): Promise<number>;
  /** Opens the content of a file. Throws if the file is not available. */
  open(p: Pick<Platform, "sql" | "objects">, fileId: string): Promise<ReadableStream<Uint8Array>>;
}
