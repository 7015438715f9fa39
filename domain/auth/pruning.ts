import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { defineJob } from "../jobs/job_type.ts";

const BATCH = 1_000;

/** Removes what sign-in no longer needs, every ten minutes; answers how many rows of each kind went. */
export const pruneSignInJob = defineJob({
  name: "steward.prune-sign-in",
  args: z.object({}),
  cron: "*/10 * * * *",
  maxRetries: 0,
  run: (_args, { db, signal }) => pruneSignIn(db, signal),
});

/**
 * Deletes in batches: sessions a day after their end (so that their tokens are told from unknown ones until then),
 * refresh tokens after their own time (a used one seen again before must be recognised), and what a password reset,
 * a failed sign-in or an OpenID sign-in left behind.
 */
export async function pruneSignIn(sql: Sql, signal: AbortSignal): Promise<Record<string, number>> {
  const batches: Record<string, () => PromiseLike<{ count: number }>> = {
    sessions: () =>
      sql`delete from sessions where id in (
        select id from sessions where expires_at < now() - interval '1 day'
        union all select id from sessions where revoked_at < now() - interval '1 day' limit ${BATCH})`,
    refreshTokens: () =>
      sql`delete from refresh_tokens where token_hash in (
        select token_hash from refresh_tokens where expires_at < now() - interval '1 day' limit ${BATCH})`,
    passwordResets: () =>
      sql`delete from password_resets where token_hash in (
        select token_hash from password_resets where expires_at < now() limit ${BATCH})`,
    failedSignIns: () =>
      sql`delete from failed_sign_ins where subject in (
        select subject from failed_sign_ins where last_failed_at < now() - interval '15 minutes' limit ${BATCH})`,
    oidcFlows: () =>
      sql`delete from oidc_flows where state_hash in (
        select state_hash from oidc_flows where expires_at < now() limit ${BATCH})`,
    oidcHandovers: () =>
      sql`delete from oidc_handovers where code_hash in (
        select code_hash from oidc_handovers where expires_at < now() limit ${BATCH})`,
  };
  const pruned: Record<string, number> = {};
  for (const [kind, deleteBatch] of Object.entries(batches)) {
    let count = BATCH;
    pruned[kind] = 0;
    while (count >= BATCH && !signal.aborted) {
      ({ count } = await deleteBatch());
      pruned[kind] += count;
    }
  }
  return pruned;
}
