import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { emitEvents } from "../events/emit.ts";
import type { FileRow } from "./file.ts";

type EventFile = Pick<
  FileRow,
  "id" | "tenantId" | "profile" | "fileName" | "declaredContentType" | "detectedContentType" | "sizeBytes"
>;

/** Wakes workers for new events. CLI scripts have no `wakeUps`; then workers find the events by polling. */
interface EventContext {
  wakeUps?: WakeUps;
}

const dataOf = (file: EventFile) => ({
  fileId: file.id,
  profile: file.profile,
  fileName: file.fileName,
  contentType: file.detectedContentType ?? file.declaredContentType,
  sizeBytes: file.sizeBytes,
});

/** Emits `file.available` to the file's tenant: it can be downloaded. */
export const emitFileAvailable = (p: EventContext, tx: Tx, file: EventFile): Promise<void> =>
  emitEvents(p, tx, [{ type: "file.available", tenantId: file.tenantId, data: dataOf(file) }]);

/** Emits `file.infected` to the file's tenant: a scan found a signature. */
export const emitFileInfected = (
  p: EventContext,
  tx: Tx,
  file: EventFile & Pick<FileRow, "signatureName">,
): Promise<void> =>
  emitEvents(p, tx, [{
    type: "file.infected",
    tenantId: file.tenantId,
    data: { ...dataOf(file), signatureName: file.signatureName },
  }]);

/**
 * Emits `file.rejected` for files with a rejection code and `file.purged` for the others, each to the file's tenant.
 */
export const emitFilesPurged = (
  p: EventContext,
  tx: Tx,
  files: (EventFile & Pick<FileRow, "purgeReason" | "rejectionCode">)[],
): Promise<void> =>
  emitEvents(
    p,
    tx,
    files.map((file) => {
      const { tenantId, purgeReason: reason, rejectionCode } = file;
      const data = dataOf(file);
      return rejectionCode === null
        ? { type: "file.purged", tenantId, data: { ...data, reason } }
        : { type: "file.rejected", tenantId, data: { ...data, rejectionCode } };
    }),
  );
