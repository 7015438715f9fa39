import type { Queryable } from "../../infra/postgres/postgres.ts";

/**
 * Tells the registry the ETag under which the store holds content that was brought back from a backup: stores make
 * other ETags of the same bytes. Only bytes with the very hash that was examined are taken for that content.
 * @returns whether a file had to be told.
 */
export async function adoptRestoredContent(
  q: Queryable,
  { key, sha256, etag }: { key: string; sha256: string; etag: string },
): Promise<boolean> {
  const told = await q`
    update files set final_etag = ${etag} where final_key = ${key} and sha256 = ${sha256} and final_etag <> ${etag}`;
  return told.count > 0;
}
