import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { type Batch, type BatchResult, positionAfter } from "../jobs/maintenance.ts";
import { type FieldErrors, invalid } from "../problems/problem.ts";
import { FIRST_ID } from "../shared/ids.ts";
import type { FileReader, NotificationPlatform } from "./platform.ts";
import type { MessageAttachment, RequestedAttachment } from "./message.ts";

const BATCH_SIZE = 200;

/**
 * Locks the files that a caller attaches, so that none is purged before `holdAttachments` references it.
 * @param field prefix of the field names in errors
 * @throws VALIDATION_ERROR with every file that is unknown to the caller or not Available, or with the total size
 */
export async function lockAttachments(
  p: Pick<NotificationPlatform, "attachedFiles" | "config">,
  tx: Tx,
  reader: FileReader,
  requested: RequestedAttachment[],
  field: string,
): Promise<MessageAttachment[]> {
  if (requested.length === 0) return [];
  const files = await p.attachedFiles.lock(tx, reader, requested.map(({ fileId }) => fileId));
  const errors: FieldErrors = {};
  let totalBytes = 0;
  const attachments = requested.map(({ fileId, fileName, isInline }, index): MessageAttachment => {
    const file = files.get(fileId);
    const mistake = file ? file.mistake : `"${fileId}" is not a file that the caller can read`;
    if (mistake !== null) errors[`${field}attachments.${index}.fileId`] = [mistake];
    totalBytes += file?.sizeBytes ?? 0;
    return {
      fileId,
      fileName: fileName ?? file?.fileName ?? "",
      contentType: file?.contentType ?? "",
      isInline,
      isHeld: true,
    };
  });
  const maxBytes = p.config.NOTIFICATION_ATTACHMENTS_MAX_BYTES;
  if (totalBytes > maxBytes) {
    errors[`${field}attachments`] = [
      `the files have ${totalBytes} bytes in total; expected at most ${maxBytes}`,
    ];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
  return attachments;
}

/** References the locked files of a stored message, in the transaction that locked them. */
export async function holdAttachments(
  p: Pick<NotificationPlatform, "attachedFiles">,
  tx: Tx,
  reader: FileReader,
  notificationId: string,
  attachments: MessageAttachment[],
): Promise<void> {
  await p.attachedFiles.hold(tx, reader, notificationId, attachments.map(({ fileId }) => fileId));
}

/** Releases the files of a message that can no longer be sent. `sweepAttachments` releases what a crash leaves. */
export async function releaseAttachments(
  p: Pick<NotificationPlatform, "sql" | "attachedFiles">,
  { id, attachments }: { id: string; attachments: MessageAttachment[] },
): Promise<void> {
  if (attachments.some(({ isHeld }) => isHeld)) await releaseMessages(p, [id]);
}

/** Releases the files of the messages that were sent, were cancelled, or have lost their content. */
export async function sweepAttachments(
  p: Pick<NotificationPlatform, "sql" | "attachedFiles">,
  { limit = BATCH_SIZE, after = null }: Partial<Batch> = {},
): Promise<BatchResult> {
  const held = await p.sql<{ id: string; isReleasable: boolean }[]>`
    with held as (
      select distinct notification_id as id from notification_attachments
      where is_held and notification_id > ${after ?? FIRST_ID} order by 1 limit ${limit}
    )
    select held.id, n.status in ('Sent', 'Cancelled') or n.body_expired_at is not null as is_releasable
    from held join notifications n on n.id = held.id order by 1`;
  const releasable = held.filter(({ isReleasable }) => isReleasable).map(({ id }) => id);
  await releaseMessages(p, releasable);
  return { rows: releasable.length, after: positionAfter(held, limit) };
}

async function releaseMessages(
  p: Pick<NotificationPlatform, "sql" | "attachedFiles">,
  ids: string[],
): Promise<void> {
  for (const id of ids) await transact(p.sql, (tx) => releaseIn(p, tx, id));
}

/** Releases the files of a message in the caller's transaction. */
export async function releaseIn(
  p: Pick<NotificationPlatform, "attachedFiles">,
  tx: Tx,
  notificationId: string,
): Promise<void> {
  const held = await tx`update notification_attachments set is_held = false
    where notification_id = ${notificationId} and is_held`;
  if (held.count > 0) await p.attachedFiles.release(tx, notificationId);
}
