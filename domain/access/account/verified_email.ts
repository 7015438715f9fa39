import type { Tx } from "../../../infra/postgres/postgres.ts";

/** Notes that a link mailed to the user's email was used, so who uses the account reads that mail. */
export async function noteVerifiedEmail(tx: Tx, userId: string): Promise<void> {
  await tx`update users set email_verified_at = now() where id = ${userId} and email_verified_at is null`;
}
