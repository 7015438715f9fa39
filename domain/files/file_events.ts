import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { emitEvents, type NewEvent } from "../events/emit.ts";
import type { FileRow } from "./file.ts";
import { EXPORT_PROFILE } from "./profiles.ts";

type EventFile = Pick<
  FileRow,
  "id" | "tenantId" | "profile" | "fileName" | "declaredContentType" | "detectedContentType" | "sizeBytes"
>;

/** Wakes workers for new events. CLI scripts have no `wakeUps`; then workers find the events by polling. */
interface EventContext {
  wakeUps?: WakeUps;
}

/** Emits an event of each file to the file's tenant. Exports have no events, because only who asked for one sees it. */
const emit = <F extends EventFile>(
  p: EventContext,
  tx: Tx,
  files: F[],
  eventOf: (file: F) => NewEvent,
): Promise<void> => emitEvents(p, tx, files.filter(({ profile }) => profile !== EXPORT_PROFILE).map(eventOf));

const dataOf = (file: EventFile) => ({
  fileId: file.id,
  profile: file.profile,
  fileName: file.fileName,
  contentType: file.detectedContentType ?? file.declaredContentType,
  sizeBytes: file.sizeBytes,
});

/** Emits `file.available`: the file can be downloaded. */
export const emitFileAvailable = (p: EventContext, tx: Tx, file: EventFile): Promise<void> =>
  emit(p, tx, [file], ({ tenantId }) => ({ type: "file.available", tenantId, data: dataOf(file) }));

/** Emits `file.infected`: a scan found a signature. */
export const emitFileInfected = (
  p: EventContext,
  tx: Tx,
  file: EventFile & Pick<FileRow, "signatureName">,
): Promise<void> =>
  emit(p, tx, [file], ({ tenantId, signatureName }) => ({
    type: "file.infected",
    tenantId,
    data: { ...dataOf(file), signatureName },
  }));

/** Emits `file.rejected` for files with a rejection code and `file.purged` for the others. */
export const emitFilesPurged = (
  p: EventContext,
  tx: Tx,
  files: (EventFile & Pick<FileRow, "purgeReason" | "rejectionCode">)[],
): Promise<void> =>
  emit(p, tx, files, (file) => {
    const { tenantId, purgeReason: reason, rejectionCode } = file;
    return rejectionCode === null
      ? { type: "file.purged", tenantId, data: { ...dataOf(file), reason } }
      : { type: "file.rejected", tenantId, data: { ...dataOf(file), rejectionCode } };
  });
