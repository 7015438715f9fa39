import type { Sql } from "../../infra/postgres/postgres.ts";

/**
 * Updates the ETag of a file whose content was restored from a backup: a store can give the same bytes another ETag.
 * The file is changed only if the restored bytes have the SHA-256 of the scanned content.
 * @returns whether a file was updated
 */
export async function adoptRestoredContent(
  q: Sql,
  { key, sha256, etag }: { key: string; sha256: string; etag: string },
): Promise<boolean> {
  const updated = await q`
    update files set final_etag = ${etag} where final_key = ${key} and sha256 = ${sha256} and final_etag <> ${etag}`;
  return updated.count > 0;
}
