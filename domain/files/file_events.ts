import type { WakeUps } from "../../infra/wakeups/wakeups.ts";
import type { Tx } from "../../infra/postgres/postgres.ts";
import { emitEvents } from "../events/emit.ts";
import type { FileRow } from "./file.ts";

type Told = Pick<
  FileRow,
  "id" | "tenantId" | "profile" | "fileName" | "declaredContentType" | "detectedContentType" | "sizeBytes"
>;

/** Wakes workers for the events, where it can: CLI scripts cannot. */
interface Waking {
  wakeUps?: WakeUps;
}

const dataOf = (file: Told) => ({
  fileId: file.id,
  profile: file.profile,
  fileName: file.fileName,
  contentType: file.detectedContentType ?? file.declaredContentType,
  sizeBytes: file.sizeBytes,
});

/** Tells the file's tenant that it can be downloaded. */
export const emitFileAvailable = (p: Waking, tx: Tx, file: Told): Promise<void> =>
  emitEvents(p, tx, [{ type: "file.available", tenantId: file.tenantId, data: dataOf(file) }]);

/** Tells the file's tenant that a signature was found in it. */
export const emitFileInfected = (
  p: Waking,
  tx: Tx,
  file: Told & Pick<FileRow, "signatureName">,
): Promise<void> =>
  emitEvents(p, tx, [{
    type: "file.infected",
    tenantId: file.tenantId,
    data: { ...dataOf(file), signatureName: file.signatureName },
  }]);

/** Tells the files' tenants that their content is gone: refused for what it was, or no longer wanted. */
export const emitFilesPurged = (
  p: Waking,
  tx: Tx,
  files: (Told & Pick<FileRow, "purgeReason" | "rejectionCode">)[],
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
