import { DAY_MS } from "../../../infra/clock.ts";
import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import type { RowResult } from "../../access/users/bulk/find_existing.ts";
import type { FilePlatform } from "../../files/platform.ts";
import { EXPORT_PROFILE } from "../../files/profiles.ts";
import { releaseOwnerReferences } from "../../files/references.ts";
import { storeServiceFile } from "../../files/service_files.ts";
import { SERVICE_SCOPES } from "../../files/service_scopes.ts";
import { BYTE_ORDER_MARK, csvText, LINE_END } from "../../shared/csv_text.ts";
import { type RunningImport, SOURCE_SCOPE } from "./user_import.ts";

const RESULT_SCOPE = SERVICE_SCOPES.userImportResult;
const PAGE = 5_000;
/** Days until the result of an import is purged, unless a caller purges it earlier. */
const RESULT_DAYS = 30;

/** Stores a CSV file with the outcome of each row in the tenant of the imported file; returns its id. */
export async function storeResult(p: FilePlatform, o: RunningImport): Promise<string> {
  const { fileId } = await storeServiceFile(p, {
    tenantId: o.actingTenantId,
    // The result of an import into several tenants names users of all of them, so only who started it sees it.
    profile: o.tenantId === null ? EXPORT_PROFILE : "report",
    fileName: `user-import-${o.id}.csv`,
    contentType: "text/csv",
    createdBy: o.createdBy,
    owner: { scope: RESULT_SCOPE, id: o.id },
    keepUntil: new Date(p.clock.now().getTime() + RESULT_DAYS * DAY_MS),
  }, ReadableStream.from(lines(p.sql, o.id)).pipeThrough(new TextEncoderStream()));
  return fileId;
}

async function* lines(q: Sql, importId: string): AsyncGenerator<string> {
  yield `${BYTE_ORDER_MARK}row,email,outcome,errors${LINE_END}`;
  for (let last = 0;;) {
    const rows = await q<RowResult[]>`select row, email, outcome, errors from user_import_rows
      where import_id = ${importId} and row > ${last} order by row limit ${PAGE}`;
    yield rows.map(({ row, email, outcome, errors }) =>
      `${row},${csvText(email ?? "")},${outcome},${csvText(errors.join("; "))}${LINE_END}`
    ).join("");
    last = rows.at(-1)?.row ?? last;
    if (rows.length < PAGE) return;
  }
}

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
  const action = ending.status === "Completed" ? "userImport.complete" : "userImport.fail";
  await recordAudit(tx, importActor(o), action, o.id, { after: { ...finished, resultFileId, error } });
}
