import type { Sql, Tx } from "../../../../infra/postgres/postgres.ts";
import { invalidateCounts } from "../../../shared/count_cache.ts";
import type { UserPlatform } from "../user_details.ts";
import { type BulkRow, findExisting, type Importer, type RowResult } from "./find_existing.ts";
import { decide } from "./decide.ts";
import { writeUsers } from "./write_users.ts";
import { mailKey } from "../../../../infra/mail/mail_address.ts";
import { PLATFORM_REACH } from "../../../rights/catalog.ts";
import { permissionCodes } from "../../../rights/held_permissions.ts";
import { permissionsNow } from "../../../rights/key_rights.ts";

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

/** The user or program that asked for an import, and its permissions at that time. */
interface Requester {
  userId: string;
  apiKeyId: string | null;
  isServiceAccount: boolean;
  /** The tenant of the request; null: none. */
  actingTenantId: string | null;
  permissions: string[];
}

/**
 * Reads the permissions that the requester still holds. A user also gets permissions with tenant reach that they received
 * after the request; a key or service account gets none. The result is empty if the user, the key or the service account is
 * not active: an import must not act for a requester who has lost access.
 */
export async function permissionsLeft(q: Sql, o: Requester): Promise<ReadonlySet<string>> {
  if (o.isServiceAccount) {
    return new Set(o.permissions).intersection(await permissionsNow(q, o.userId, o.actingTenantId));
  }
  const [row] = await q<{ codes: string[]; isLive: boolean }[]>`
    select array(${permissionCodes(q, o.userId, o.actingTenantId)}) as codes,
      u.is_active and u.deleted_at is null and (${o.apiKeyId}::uuid is null or exists (select from api_keys
        where id = ${o.apiKeyId} and revoked_at is null and (expires_at is null or expires_at > now()))) as is_live
    from users u where u.id = ${o.userId}`;
  const codes = new Set(row?.isLive ? row.codes : []);
  const gained = o.apiKeyId === null ? codes.difference(PLATFORM_REACH) : new Set<string>();
  return new Set(o.permissions.filter((code) => codes.has(code))).union(gained);
}
