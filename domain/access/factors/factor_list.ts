import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { Caller } from "../../rights/caller.ts";
import { countRows } from "../../shared/read_page.ts";

/** A second factor, as shown to its owner. */
export interface Factor {
  id: string;
  kind: "totp" | "passkey";
  name: string;
  createdAt: Date;
  /** Null: it waits for its first code and does not count yet. */
  confirmedAt: Date | null;
  lastUsedAt: Date | null;
}

/** The second factors of the caller. */
export interface OwnFactors {
  factors: Factor[];
  recoveryCodesLeft: number;
  /** True: the session is good only for adding a factor or for a step-up. */
  isLimited: boolean;
}

/** Columns of a factor, as shown to its owner. */
export const factorColumns = (q: Sql) => q`id, kind, name, created_at, confirmed_at, last_used_at`;

/** Lists the caller's factors, oldest first. */
export async function listOwnFactors(q: Sql, { userId, proof }: Caller): Promise<OwnFactors> {
  const factors = await q<Factor[]>`
    select ${factorColumns(q)} from user_factors where user_id = ${userId} order by created_at, id`;
  const recoveryCodesLeft = await countRows(q, q`recovery_codes where user_id = ${userId}`);
  return { factors: [...factors], recoveryCodesLeft, isLimited: proof?.isLimited ?? false };
}
