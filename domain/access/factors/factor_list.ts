import { z } from "zod";
import { time } from "../../shared/shapes.ts";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { Caller } from "../../rights/caller.ts";
import { countRows } from "../../shared/lists.ts";

/** A second factor, as shown to its owner. */
export const Factor = z.object({
  id: z.guid(),
  kind: z.enum(["totp", "passkey"]),
  name: z.string(),
  createdAt: time,
  confirmedAt: time.nullable().describe("null: waits for its first code and does not count yet"),
  lastUsedAt: time.nullable(),
}).meta({ id: "FactorDto" });
export type Factor = z.output<typeof Factor>;

/** The second factors of the caller. */
export const OwnFactors = z.object({
  factors: z.array(Factor),
  recoveryCodesLeft: z.int(),
  isLimited: z.boolean().describe(
    "True: a second factor is required and the session lacks it. It is good only for adding one",
  ),
}).meta({ id: "OwnFactorsDto" });
export type OwnFactors = z.output<typeof OwnFactors>;

/** Columns of a factor, as shown to its owner. */
export const factorColumns = (q: Sql) => q`id, kind, name, created_at, confirmed_at, last_used_at`;

/** Lists the caller's factors, oldest first. */
export async function listOwnFactors(q: Sql, { userId, proof }: Caller): Promise<OwnFactors> {
  const factors = await q<Factor[]>`
    select ${factorColumns(q)} from user_factors where user_id = ${userId} order by created_at, id`;
  const recoveryCodesLeft = await countRows(q, q`recovery_codes where user_id = ${userId}`);
  return { factors: [...factors], recoveryCodesLeft, isLimited: proof?.isLimited ?? false };
}
