import { type Actor, type AuditEntry, recordAudits } from "../../domain/audit/audit.ts";
import { emitEvents, type NewEvent } from "../../domain/events/emit.ts";
import { ownDataMistake } from "../../domain/events/event_types.ts";
import type { DownloadUrl } from "../../domain/files/download.ts";
import { type Reservation, type ReservationRequest, reserveFile } from "../../domain/files/reserve.ts";
import { type ServiceFile, signTenantDownload, storeServiceFile } from "../../domain/files/service_files.ts";
import { enqueueJob, type JobOptions } from "../../domain/jobs/enqueue.ts";
import type { JobType } from "../../domain/jobs/job_type.ts";
import type { Message } from "../../domain/notifications/message.ts";
import { sendNotification } from "../../domain/notifications/sending/send.ts";
import type { MessageSender } from "../../domain/notifications/store_notification.ts";
import { createHttpOut, type OutboundAnswer, type OutboundRequest } from "../../infra/http_out/http_out.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { withDatabase } from "../../domain/shared/platform.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";

/** An event of a tenant, of a type that the extension or the service declares. */
export interface TenantEvent {
  type: string;
  tenantId: string;
  /** JSON, at most 64 KiB. */
  data: unknown;
}

/**
 * The functions of the service that the code of an extension may call. `db` is the pool or a transaction. With a
 * transaction, the work becomes a part of it: it exists only if the transaction commits.
 */
export interface Services {
  /** Enqueues a job and returns its id. */
  enqueueJob<A, C>(db: Sql, type: JobType<A, C>, args: A, options?: JobOptions): Promise<string>;
  /**
   * Queues a message.
   * @throws VALIDATION_ERROR, NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_VARIABLES_MISSING
   */
  sendNotification(db: Sql, sender: MessageSender, message: Message): Promise<{ notificationId: string }>;
  /**
   * Reserves a file of the caller's tenant and signs its upload URL.
   * @throws FILE_PROFILE_UNKNOWN, FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE, FILE_TOO_LARGE_UNPROCESSABLE
   */
  reserveFile(db: Sql, caller: Caller, request: ReservationRequest): Promise<Reservation>;
  /**
   * Stores a generated file, such as a PDF, and scans it. Its status is Scanning when this returns. `owner` gets the
   * first reference: the file is not purged while it holds it.
   * @throws FILE_PROFILE_UNKNOWN, FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE, FILE_TOO_LARGE_UNPROCESSABLE
   */
  storeFile(
    file: ServiceFile,
    content: ReadableStream<Uint8Array>,
  ): Promise<{ fileId: string; sizeBytes: number }>;
  /**
   * Signs a download URL of a file of the tenant, valid for five minutes. Writes no audit row.
   * @throws FILE_NOT_FOUND, FILE_NOT_AVAILABLE_CONFLICT, FILE_INFECTED_CONFLICT, FILE_PURGED_CONFLICT
   */
  signDownload(db: Sql, tenantId: string, fileId: string): Promise<DownloadUrl>;
  /** Sends an event to the tenant's subscribed webhook endpoints. */
  emitEvent(db: Sql, event: TenantEvent): Promise<void>;
  /**
   * Sends an HTTP request to a URL that a caller gave. Private addresses are refused unless OUTBOUND_ALLOW has them.
   * Redirects are returned as the answer.
   * @throws OutboundRefused for a URL or address that is not allowed; Error if the exchange fails or takes 30 s
   */
  fetchOutbound(request: OutboundRequest): Promise<OutboundAnswer>;
  /** Writes an audit row. `actor` is a caller, or null for the service itself. */
  audit(db: Sql, actor: Actor, entry: AuditEntry): Promise<void>;
}

/** The functions of this service for its extensions. */
export const servicesOf = (platform: ServicePlatform): Services => ({
  enqueueJob: (db, type, args, options) =>
    transact(db, (tx) => enqueueJob(platform, tx, type as unknown as JobType<typeof args>, args, options)),
  sendNotification: (db, sender, message) =>
    transact(db, (tx) => sendNotification(withDatabase(platform, tx), tx, sender, message)),
  reserveFile: (db, caller, request) => reserveFile(withDatabase(platform, db), caller, request),
  storeFile: (file, content) => storeServiceFile(platform, file, content),
  signDownload: (db, tenantId, fileId) => signTenantDownload(withDatabase(platform, db), tenantId, fileId),
  async emitEvent(db, event) {
    if (!platform.eventTypes.has(event.type)) {
      throw new Error(`no extension declares the event ${event.type}`);
    }
    const mistake = ownDataMistake(event.data);
    if (mistake) throw new Error(`the data of an event ${event.type}: ${mistake}`);
    await transact(db, (tx) => emitEvents(platform, tx, [event as NewEvent]));
  },
  fetchOutbound: (request) =>
    createHttpOut({ allow: platform.config.OUTBOUND_ALLOW, followsRedirects: false }).send(request),
  audit: (db, actor, entry) => transact(db, (tx) => recordAudits(tx, actor, [entry])),
});
