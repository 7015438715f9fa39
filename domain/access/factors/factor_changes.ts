import type { Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import type { Caller } from "../../rights/caller.ts";
import { mailOwner } from "../account/owner_mail.ts";
import type { AccessPlatform } from "../platform.ts";

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
