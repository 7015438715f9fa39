import { databaseFailure, PostgresError } from "../infra/postgres/failures.ts";
import type { Sql } from "../infra/postgres/postgres.ts";
import type { Replica } from "../infra/postgres/replica.ts";
import type { Call } from "./shared/call.ts";

/** SQLSTATE of a write in a read-only transaction. */
const READ_ONLY = "25006";

/**
 * Answers a GET from the read replica if its caller accepts data of that age (`Cache-Control: max-stale`, RFC 9111).
 * @returns null if the primary has to answer, because the caller accepts no old data, the replica lags too much or fails, or
 * the request writes
 */
export async function onReplica<A>(
  replica: Replica,
  { request }: Call,
  read: (db: Sql) => Promise<A>,
): Promise<A | null> {
  const maxSeconds = maxStale(request.headers);
  const sql = maxSeconds === null ? null : replica.pool(maxSeconds);
  if (!sql) return null;
  try {
    return await read(sql);
  } catch (error) {
    const failure = databaseFailure(error);
    if (failure === "unreachable") replica.markUnreachable();
    const isWrite = error instanceof PostgresError && error.code === READ_ONLY;
    if (failure === null && !isWrite) throw error;
    return null;
  }
}

/** Seconds of the directive `max-stale`; Infinity without a value; null without the directive. */
function maxStale(headers: Headers): number | null {
  const directives = headers.get("cache-control")?.split(",") ?? [];
  for (const directive of directives) {
    const match = /^\s*max-stale(?:\s*=\s*"?(\d+)"?)?\s*$/i.exec(directive);
    if (match) return match[1] === undefined ? Infinity : Number(match[1]);
  }
  return null;
}
