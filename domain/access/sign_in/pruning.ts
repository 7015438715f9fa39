import { deleteExpired, maintenanceJob } from "../../jobs/maintenance.ts";

/** Time for which an ended session or token is kept, so that an old token gets a precise error. */
const ENDED = "1 day";

/** Deletes expired rows of sign-ins every ten minutes. */
export const pruneSignInJob = maintenanceJob({
  name: "steward.prune-sign-in",
  cron: "*/10 * * * *",
  works: {
    expiredSessions: deleteExpired({ table: "sessions", column: "expires_at", keptFor: ENDED }),
    revokedSessions: deleteExpired({ table: "sessions", column: "revoked_at", keptFor: ENDED }),
    refreshTokens: deleteExpired({ table: "refresh_tokens", column: "expires_at", keptFor: ENDED }),
    passwordResets: deleteExpired({ table: "password_resets", column: "expires_at" }),
    // Accepted invitations too.
    invitations: deleteExpired({ table: "invitations", column: "expires_at", keptFor: "90 days" }),
    delegations: deleteExpired({ table: "delegations", column: "created_at", keptFor: "365 days" }),
    registrations: deleteExpired({ table: "registrations", column: "expires_at" }),
    emailChanges: deleteExpired({ table: "email_changes", column: "expires_at" }),
    failedSignIns: deleteExpired({
      table: "failed_sign_ins",
      column: "last_failed_at",
      keptFor: "15 minutes",
    }),
    knownDevices: deleteExpired({ table: "known_devices", column: "expires_at" }),
    oidcFlows: deleteExpired({ table: "oidc_flows", column: "expires_at" }),
    oidcHandovers: deleteExpired({ table: "oidc_handovers", column: "expires_at" }),
    signInAssertions: deleteExpired({ table: "sign_in_assertions", column: "expires_at" }),
    setupLinks: deleteExpired({ table: "sign_in_setup_links", column: "expires_at", keptFor: ENDED }),
    factorTokens: deleteExpired({ table: "factor_tokens", column: "expires_at" }),
    passkeyChallenges: deleteExpired({ table: "passkey_challenges", column: "expires_at" }),
    unconfirmedApps: deleteExpired({
      table: "user_factors",
      column: "created_at",
      keptFor: "1 day",
      and: "confirmed_at is null",
    }),
  },
});
