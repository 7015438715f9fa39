import type { Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import { releaseOwnerReferences } from "../../files/service_files.ts";
import { RESULT_SCOPE } from "./result_file.ts";
import { type RunningImport, SOURCE_SCOPE } from "./user_import.ts";

/** How an import ends. */
export type ImportEnding =
  | { status: "Completed"; resultFileId: string }
  | { status: "Failed"; error: string };

/** The members of an import that its end uses. */
export type EndingImport = Pick<
  RunningImport,
  "id" | "createdBy" | "apiKeyId" | "actedBy" | "tenantId" | "traceId"
>;

/** In whose name an import writes audit rows. */
export function importActor({ createdBy: userId, apiKeyId, actedBy, tenantId, traceId }: EndingImport) {
  const by = actedBy === null ? null : { userId: actedBy, mayWrite: true };
  return { userId, apiKeyId, actedBy: by, tenantId, traceId, ip: null };
}

/** Ends an open import and releases its files. Does nothing if it has ended already. */
export async function finishImport(tx: Tx, o: EndingImport, ending: ImportEnding): Promise<void> {
  const resultFileId = ending.status === "Completed" ? ending.resultFileId : null;
  const error = ending.status === "Failed" ? ending.error : null;
  // Without references both files can be purged, also the result of a run that crashed after it had stored the file.
  await releaseOwnerReferences(tx, SOURCE_SCOPE, [o.id]);
  await releaseOwnerReferences(tx, RESULT_SCOPE, [o.id]);
  const [finished] = await tx<{ created: number; updated: number; unchanged: number; failed: number }[]>`
    update user_imports set status = ${ending.status}, error = ${error}, result_file_id = ${resultFileId},
      finished_at = now(), version = version + 1
    where id = ${o.id} and status in ('Queued', 'Running') returning created, updated, unchanged, failed`;
  if (!finished) return;
  await tx`delete from user_import_rows where import_id = ${o.id}`;
  await recordAudit(
    tx,
    importActor(o),
    ending.status === "Completed" ? "userImport.complete" : "userImport.fail",
    o.id,
    { after: { ...finished, resultFileId, error } },
  );
}
