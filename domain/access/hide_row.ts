import { PostgresError, SQLSTATE, type Tx } from "../../infra/postgres/postgres.ts";
import type { Problem } from "../problems/problem.ts";

/**
 * Sets a role or permission deleted. A foreign key to its generated live column refuses that while something refers to
 * the row, however late it came to; that becomes the refusal `inUse`.
 */
export async function hideRow(
  tx: Tx,
  table: "roles" | "permissions",
  id: string,
  inUse: Problem,
): Promise<void> {
  try {
    await tx`update ${
      tx(table)
    } set deleted_at = now(), updated_at = now(), version = version + 1 where id = ${id}`;
  } catch (error) {
    if (!(error instanceof PostgresError) || error.code !== SQLSTATE.foreignKeyViolation) throw error;
    throw inUse;
  }
}
