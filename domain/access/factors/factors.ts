import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import type { Caller } from "../../rights/caller.ts";
import { mailOwner } from "../account/owner_mail.ts";
import type { AccessPlatform } from "../platform.ts";
import { z } from "zod";
import { time } from "../../shared/shapes.ts";
import { countRows } from "../../shared/lists.ts";

/** The mail to the owner about each change of second factors. */
const MAILS = {
  "add-factor": "factor-added",
  "remove-factor": "factor-removed",
  "renew-recovery-codes": "recovery-codes-renewed",
  "remove-factors": "factors-removed",
} as const;
export type FactorChange = keyof typeof MAILS;

/** Writes the audit row of a change of a user's factors and tells the owner of the account. */
export async function recordFactorChange(
  p: AccessPlatform,
  tx: Tx,
  caller: Caller,
  o: { userId: string; change: FactorChange; before?: unknown; after?: unknown },
): Promise<void> {
  const { userId, change, before, after } = o;
  await recordAudit(tx, caller, `user.${change}`, userId, { before, after });
  await mailOwner(p, tx, { userId, kind: MAILS[change] });
}

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
