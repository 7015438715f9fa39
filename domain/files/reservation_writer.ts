import { GroupCommit } from "../../infra/postgres/group_commit.ts";
import { isTransaction, type Pool, type Sql } from "../../infra/postgres/postgres.ts";
import { newId } from "../shared/ids.ts";
import type { PartUpload } from "./parts.ts";

/** An upload that started before its URL expired may still be running this long after. */
export const LATE_UPLOAD_MS = 60 * 60_000;

export interface NewFile {
  profile: string;
  fileName: string;
  contentType: string;
  sizeBytes: number;
  tenantId: string | null;
  stagingKey: string;
  partUpload: PartUpload | null;
  createdBy: string | null;
  uploadExpiresAt: Date;
  now: Date;
}

/** Writes reservations. Concurrent ones share one commit (group commit). */
export class ReservationWriter {
  readonly #files: GroupCommit<NewFile, string>;

  constructor(pool: Pool) {
    this.#files = new GroupCommit((files) => insertReservations(pool, files));
  }

  /**
   * Resolves with the file's id.
   * @param sql a transaction to write it in; a pool: resolves after the commit, which concurrent calls share
   */
  async write(q: Sql, file: NewFile): Promise<string> {
    if (!isTransaction(q)) return await this.#files.add(file);
    const [id = ""] = await insertReservations(q, [file]);
    return id;
  }
}

/** Inserts Pending files and their staging keys in one statement. @returns the ids, in the given order */
export async function insertReservations(q: Sql, files: NewFile[]): Promise<string[]> {
  const rows = files.map(({ partUpload, ...file }) => ({
    ...file,
    id: newId(),
    writableUntil: new Date(file.uploadExpiresAt.getTime() + LATE_UPLOAD_MS),
    uploadId: partUpload?.uploadId,
    partCount: partUpload?.partCount,
  }));
  await q`
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as f (
        id uuid, "tenantId" uuid, profile text, "fileName" text, "contentType" text, "sizeBytes" bigint,
        "stagingKey" text, "createdBy" uuid, now timestamptz, "uploadExpiresAt" timestamptz,
        "writableUntil" timestamptz, "uploadId" text, "partCount" integer)
    ), written as (
      insert into files (id, tenant_id, profile, file_name, declared_content_type, size_bytes, staging_key,
        created_by, created_at, upload_expires_at)
      select id, "tenantId", profile, "fileName", "contentType", "sizeBytes", "stagingKey", "createdBy", now,
        "uploadExpiresAt" from given
    )
    insert into file_objects (key, file_id, writable_until, upload_id, part_count)
    select "stagingKey", id, "writableUntil", "uploadId", "partCount" from given`;
  return rows.map(({ id }) => id);
}
