import type { Sql } from "../../infra/postgres/postgres.ts";
import { allOf, belongsTo, countList, matches, pageOf } from "../shared/lists.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { EXPORT_PROFILE } from "./profiles.ts";
import { type FileRecord, fileRecord, type FileRow, type FileViewer, seesExportsOf } from "./file.ts";
import type { PurgeKind } from "./purge_reasons.ts";

interface Filters
  extends Pick<FileRecord, "status" | "profile" | "createdBy" | "legalHold" | "retentionClass"> {
  /** Only Purged files, by why they have no content. */
  purgeKind: PurgeKind;
  /** Part of the file name; ignores letter case and accents. */
  search: string;
  fromDate: Date;
  /** Inclusive. */
  toDate: Date;
  /** True: product files instead of the files of the caller's tenant. Without a tenant, only product files are listed. */
  isProduct: boolean;
}
/** The filters of a list of files; absent members do not filter. */
type FileFilter = { [F in keyof Filters]?: Filters[F] | undefined };

/** Exports of personal data are listed only by their profile, and only to the user who asked for them. */
type Selection = FileFilter & { tenantId: string | null; exportsOf: string | null };

/** Up to this many matches, one query reads all ids. For more, the total and the page are separate queries. */
const MAX_IDS_AT_ONCE = 1_000;

/** The files of the caller's tenant, or the product files, newest first. */
export async function listFiles(
  q: Sql,
  caller: FileViewer,
  { page, pageSize, ...filter }: FileFilter & PageRequest,
): Promise<PagedResult<FileRecord>> {
  const request = { page, pageSize };
  const selection = {
    ...filter,
    tenantId: filter.isProduct ? null : caller.tenantId,
    exportsOf: filter.profile === EXPORT_PROFILE ? seesExportsOf(caller) : null,
  };
  const offset = offsetOf(request);
  const found = await q<{ id: string }[]>`
    select id from files where ${where(q, selection)} limit ${MAX_IDS_AT_ONCE + 1}`;
  if (found.length <= MAX_IDS_AT_ONCE) {
    // Ids are UUIDv7: sorting them as text sorts by creation time.
    const ids = found.map(({ id }) => id).sort().reverse().slice(offset, offset + pageSize);
    return pagedResult(await readFiles(q, q`select unnest(${ids}::uuid[])`), found.length, request);
  }
  const counted = q`files where ${where(q, selection)}`;
  const total = await countList(q, counted);
  if (offset >= total) return pagedResult<FileRecord>([], total, request);
  const ids = q`select id from files where ${where(q, selection)}
    order by id desc ${pageOf(q, request)}`;
  return pagedResult(await readFiles(q, ids), total, request);
}

async function readFiles(q: Sql, ids: ReturnType<typeof where>): Promise<FileRecord[]> {
  const rows = await q<FileRow[]>`
    with page (id) as materialized (${ids})
    select * from files where id = any(array(select id from page)) order by id desc`;
  return rows.map(fileRecord);
}

const where = (q: Sql, o: Selection) =>
  allOf(q, [
    belongsTo(q, o.tenantId),
    o.status !== undefined && q`status = ${o.status}::file_status`,
    o.purgeKind !== undefined && q`status = 'Purged' and file_purge_kind(purge_reason) = ${o.purgeKind}`,
    o.exportsOf === null ? q`profile <> ${EXPORT_PROFILE}` : q`created_by = ${o.exportsOf}`,
    o.profile !== undefined && q`profile = ${o.profile}`,
    o.createdBy !== undefined && q`created_by = ${o.createdBy}`,
    o.legalHold !== undefined && (o.legalHold ? q`legal_hold` : q`not legal_hold`),
    o.retentionClass !== undefined && q`retention_class = ${o.retentionClass}::retention_class`,
    o.fromDate !== undefined && q`created_at >= ${o.fromDate}`,
    o.toDate !== undefined && q`created_at <= ${o.toDate}`,
    matches(q, "search_text", o.search),
  ]);
