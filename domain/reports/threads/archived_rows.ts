import type { ObjectStore } from "../../../infra/objectstore/objectstore.ts";
import type { QueryInput, ReportQuery } from "../definition/template_parts.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";

/** The columns of `findArchives`. */
export const ARCHIVE_KEY = { objectKey: { title: "", type: "text" } } as const;

/** The query for the keys of the archives that may have rows of a report's kind and days. */
export const findArchives = (sql: Sql, { parameters }: QueryInput<Record<string, unknown>>): ReportQuery => {
  const { kind, from, to } = parameters as { kind: string; from: string | null; to: string | null };
  return sql`
    select object_key from archives
    where kind = ${kind} and (${from}::date is null or to_at >= ${from}::date)
      and (${to}::date is null or from_at < ${to}::date + 1)
    order by from_at, id`;
};

/** The rows of an archive as a JSON array. @throws ObjectStoreError */
export async function readArchive(objects: ObjectStore, key: string, signal: AbortSignal): Promise<string> {
  const { parquetReadObjects } = await import("hyparquet");
  const file = await new Response(await objects.read(key, { signal })).arrayBuffer();
  return JSON.stringify(await parquetReadObjects({ file }));
}
