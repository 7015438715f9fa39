import type { Tx } from "../../../../infra/postgres/postgres.ts";
import { invalidateCounts } from "../../../shared/count_cache.ts";
import type { UserPlatform } from "../user_lock.ts";
import type { BulkRow, Importer, RowResult } from "./bulk_row.ts";
import { decide } from "./decide.ts";
import { findExisting } from "./find_existing.ts";
import { writeUsers } from "./write_users.ts";
import { mailKey } from "../../../../infra/mail/mail_address.ts";

/**
 * Creates and changes the users of many rows in one transaction, with a fixed number of statements. Rows that break a
 * rule fail alone. Rows of one email in several tenants are handled one after another.
 * @param dry only decides; the number of links by tenant that earlier calls decided, which this call adds to
 * @returns what became of each row, in no particular order
 */
export async function importUsers(
  p: UserPlatform,
  tx: Tx,
  importer: Importer,
  rows: BulkRow[],
  dry: Map<string, number> | null,
): Promise<RowResult[]> {
  const results: RowResult[] = [];
  for (const pass of passesOf(rows)) {
    const plan = decide(importer, await findExisting(tx, pass), pass, dry ?? new Map());
    const leftOut = dry ? new Set<number>() : await writeUsers(p, tx, importer, plan.users);
    results.push(...plan.results.map((result) => leftOut.has(result.row) ? emailTaken(result) : result));
  }
  if (!dry) invalidateCounts(tx);
  return results;
}

/** Groups of rows in which each email occurs once. */
function passesOf(rows: BulkRow[]): BulkRow[][] {
  const passes: BulkRow[][] = [];
  const seen = new Map<string, number>();
  for (const row of rows) {
    const key = row.email === undefined ? `row ${row.row}` : mailKey(row.email);
    const at = seen.get(key) ?? 0;
    seen.set(key, at + 1);
    (passes[at] ??= []).push(row);
  }
  return passes;
}

const emailTaken = ({ row, email }: RowResult): RowResult => ({
  row,
  email,
  outcome: "Failed",
  errors: ["USER_ALREADY_EXISTS: another user got this email meanwhile; import the row again"],
});
