import { PostgresError, SQLSTATE } from "../../infra/postgres/failures.ts";
import { type Tx } from "../../infra/postgres/postgres.ts";
import type { Problem } from "../problems/problem.ts";

/**
 * Soft-deletes a role or permission. Other rows refer to its generated `live` column by foreign key, so Postgres
 * rejects the deletion while such rows exist, also those of concurrent transactions. Then throws `inUse`.
 */
export async function softDeleteRow(
  tx: Tx,
  table: "roles" | "permissions",
  id: string,
  inUse: Problem,
): Promise<void> {
  try {
    await tx`update ${tx(table)} set deleted_at = now(), updated_at = now(), version = version + 1
      where id = ${id}`;
  } catch (error) {
    if (!(error instanceof PostgresError) || error.code !== SQLSTATE.foreignKeyViolation) throw error;
    throw inUse;
  }
}
