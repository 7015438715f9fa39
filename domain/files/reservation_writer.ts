import type { Sql } from "../../infra/postgres/postgres.ts";
import type { PartUpload } from "./parts.ts";

/** An upload that started before its URL expired may still be running this long after. */
export const LATE_UPLOAD_MS = 60 * 60_000;

export interface NewFile {
  id: string;
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

/** Inserts Pending files and their staging keys in one statement. @returns the ids, in the given order */
export async function insertReservations(q: Sql, files: NewFile[]): Promise<string[]> {
  const rows = files.map(({ partUpload, ...file }) => ({
    ...file,
    ...partUpload,
    writableUntil: new Date(file.uploadExpiresAt.getTime() + LATE_UPLOAD_MS),
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
