import type { Tx } from "../../../infra/postgres/postgres.ts";

/** Marks the user's email as verified, because a link that was mailed to it was used. */
export async function noteVerifiedEmail(tx: Tx, userId: string): Promise<void> {
  await tx`update users set email_verified_at = now() where id = ${userId} and email_verified_at is null`;
}
