import type { Tx } from "../../../infra/postgres/postgres.ts";
import type { Config } from "../../../infra/config.ts";
import { type FieldErrors, invalid, problem } from "../../problems/problem.ts";
import { API_SCOPES, type Caller, isSystemAdmin } from "../../rights/caller.ts";
import { isSameAudience, withoutSlash } from "./audience.ts";
import { type ClientKind, type ClientSettings } from "./client.ts";
import { redirectUriFault } from "./redirect_uris.ts";

/** First characters of the client ids of clients and of service accounts. ID tokens name client ids as audience. */
export const CLIENT_ID_PREFIX = "oc_";
const ACCOUNT_ID_PREFIX = "sa_";

/**
 * Checks the settings of a client. The audience must be neither the service's own nor a client's id, because an API would
 * accept tokens that were issued for another purpose.
 * @throws VALIDATION_ERROR by field
 */
export function requireClientRules(
  settings: ClientSettings,
  o: { kind: ClientKind; config: Config; issuer: string },
): void {
  const { redirectUris, postLogoutRedirectUris, audience, backchannelLogoutUri: logoutUri } = settings;
  const errors: FieldErrors = {
    ...uriErrors("redirectUris", redirectUris, o.kind),
    ...uriErrors("postLogoutRedirectUris", postLogoutRedirectUris, o.kind),
  };
  const logoutFault = logoutUri === null ? null : redirectUriFault(logoutUri, "confidential");
  if (logoutFault) errors.backchannelLogoutUri = [logoutFault];
  if (settings.refreshTokenSeconds > settings.grantSeconds) {
    errors.refreshTokenSeconds = [`expected at most grantSeconds, which is ${settings.grantSeconds}`];
  }
  if (o.kind === "public" && redirectUris.length === 0) {
    errors.redirectUris = [
      "expected at least one: a public client cannot use anything but the user's sign-in",
    ];
  }
  const reserved = API_SCOPES.filter((scope) => settings.scopes.includes(scope));
  if (reserved.length > 0 && !settings.firstParty) {
    errors.scopes = [`only a first-party client may have ${reserved.join(" and ")}`];
  }
  if ([o.config.TOKEN_AUDIENCE, o.issuer].some((own) => isSameAudience(audience, own))) {
    errors.audience = ["expected another audience than the service's own, whose API would accept the tokens"];
  } else if ([CLIENT_ID_PREFIX, ACCOUNT_ID_PREFIX].some((prefix) => audience.startsWith(prefix))) {
    errors.audience = ["expected no client id, which is the audience of ID tokens"];
  }
  if (Object.keys(errors).length > 0) throw invalid(errors);
}

function uriErrors(field: string, uris: readonly string[], kind: ClientKind): FieldErrors {
  const errors: FieldErrors = {};
  for (const [index, uri] of uris.entries()) {
    const fault = redirectUriFault(uri, kind);
    if (fault) errors[`${field}.${index}`] = [fault];
  }
  return errors;
}

/**
 * Checks that the caller may make or change a first-party client. That needs admin:system: its users are not asked for
 * consent, so its redirect URIs decide which site gets their sign-in.
 * @throws MISSING_PERMISSION
 */
export function requireMaySkipConsent(
  caller: Caller,
  ...settings: Pick<ClientSettings, "firstParty">[]
): void {
  if (isSystemAdmin(caller) || !settings.some(({ firstParty }) => firstParty)) return;
  throw problem(
    "MISSING_PERMISSION",
    "A first-party client needs admin:system, which the caller does not hold.",
  );
}

/**
 * Reserves an audience for the clients of one owner. It is free again a day after its last client was revoked or got
 * another audience, because all tokens with it have expired by then. Locks the audience until the end of the transaction.
 * Slashes at the end are ignored, because APIs compare without them.
 * @param tenantId null: the platform
 * @throws OAUTH_AUDIENCE_CONFLICT
 */
export async function reserveAudience(tx: Tx, audience: string, tenantId: string | null): Promise<void> {
  const key = withoutSlash(audience);
  const [held] = await tx<{ tenantId: string | null }[]>`
    insert into oauth_audiences as a (audience, tenant_id) values (${key}, ${tenantId})
    on conflict (audience) do update set audience = excluded.audience returning a.tenant_id`;
  if (held?.tenantId === tenantId) return;
  // This is a statement of its own, because it must see clients that were committed while the first one waited for the lock.
  const { count } = await tx`
    update oauth_audiences a set tenant_id = ${tenantId}, left_at = null where audience = ${key}
      and (left_at is null or left_at <= now() - interval '1 day') and not exists (
      select from oauth_clients c where rtrim(c.audience, '/') = a.audience
        and (c.revoked_at is null or c.revoked_at > now() - interval '1 day'))`;
  if (count > 0) return;
  throw problem("OAUTH_AUDIENCE_CONFLICT", `The audience ${audience} belongs to clients of another owner.`);
}

/** Records the time at which a client left an audience. Tokens with that audience may still be valid. */
export async function leaveAudience(tx: Tx, audience: string): Promise<void> {
  await tx`update oauth_audiences set left_at = now() where audience = ${withoutSlash(audience)}`;
}
