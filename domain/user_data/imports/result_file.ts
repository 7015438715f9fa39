import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { FilePlatform } from "../../files/platform.ts";
import { EXPORT_PROFILE } from "../../files/profiles.ts";
import { storeServiceFile } from "../../files/service_files.ts";
import { SERVICE_SCOPES } from "../../files/service_scopes.ts";
import { BYTE_ORDER_MARK, csvText, LINE_END } from "../../shared/csv_text.ts";
import type { RunningImport } from "./user_import.ts";

export const RESULT_SCOPE = SERVICE_SCOPES.userImportResult;
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
    keepUntil: new Date(p.clock.now().getTime() + RESULT_DAYS * 86_400_000),
  }, ReadableStream.from(lines(p.sql, o.id)).pipeThrough(new TextEncoderStream()));
  return fileId;
}

interface Line {
  row: number;
  email: string | null;
  outcome: string;
  errors: string[];
}

async function* lines(q: Sql, importId: string): AsyncGenerator<string> {
  yield `${BYTE_ORDER_MARK}row,email,outcome,errors${LINE_END}`;
  for (let last = 0;;) {
    const rows = await q<Line[]>`select row, email, outcome, errors from user_import_rows
      where import_id = ${importId} and row > ${last} order by row limit ${PAGE}`;
    yield rows.map(({ row, email, outcome, errors }) =>
      `${row},${csvText(email ?? "")},${outcome},${csvText(errors.join("; "))}${LINE_END}`
    ).join("");
    last = rows.at(-1)?.row ?? last;
    if (rows.length < PAGE) return;
  }
}
