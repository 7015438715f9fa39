import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { defineJob } from "../../jobs/job_type.ts";

const BATCH = 1_000;

/** Deletes expired rows of sign-ins every ten minutes. Returns the number of deleted rows of each kind. */
export const pruneSignInJob = defineJob({
  name: "steward.prune-sign-in",
  args: z.object({}),
  cron: "*/10 * * * *",
  maxRetries: 0,
  run: (_args, { db, signal }) => pruneSignIn(db, signal),
});

/**
 * Deletes expired rows in batches. Sessions and refresh tokens are deleted a day after they end or expire, so that until
 * then an old token is recognised and gets a precise error. Authenticator apps that were not confirmed are deleted a day
 * after they were added. Invitations are deleted 90 days after they expire, also accepted
 * ones; password resets, email changes, failed sign-ins, known devices, OpenID flows and what waits for a second factor when
 * they expire.
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
    invitations: () =>
      sql`delete from invitations where id in (
        select id from invitations where expires_at < now() - interval '90 days' limit ${BATCH})`,
    emailChanges: () =>
      sql`delete from email_changes where id in (
        select id from email_changes where expires_at < now() limit ${BATCH})`,
    failedSignIns: () =>
      sql`delete from failed_sign_ins where subject in (
        select subject from failed_sign_ins where last_failed_at < now() - interval '15 minutes' limit ${BATCH})`,
    knownDevices: () =>
      sql`delete from known_devices where id in (
        select id from known_devices where expires_at < now() limit ${BATCH})`,
    oidcFlows: () =>
      sql`delete from oidc_flows where state_hash in (
        select state_hash from oidc_flows where expires_at < now() limit ${BATCH})`,
    oidcHandovers: () =>
      sql`delete from oidc_handovers where code_hash in (
        select code_hash from oidc_handovers where expires_at < now() limit ${BATCH})`,
    factorTokens: () =>
      sql`delete from factor_tokens where token_hash in (
        select token_hash from factor_tokens where expires_at < now() limit ${BATCH})`,
    passkeyChallenges: () =>
      sql`delete from passkey_challenges where challenge_hash in (
        select challenge_hash from passkey_challenges where expires_at < now() limit ${BATCH})`,
    // The outer condition keeps an app that is confirmed meanwhile.
    unconfirmedApps: () =>
      sql`delete from user_factors where confirmed_at is null and id in (
        select id from user_factors where confirmed_at is null and created_at < now() - interval '1 day'
        limit ${BATCH})`,
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
