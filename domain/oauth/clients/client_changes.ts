import { randomBytes } from "node:crypto";
import { announceChange } from "../../../infra/postgres/changes.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { lockLiveKey, newKey, revokeKey } from "../../access/keys/key_record.ts";
import { recordAudit } from "../../audit/audit.ts";
import { type FieldErrors, invalid, problem } from "../../problems/problem.ts";
import { API_SCOPES, type Caller, isSystemAdmin } from "../../rights/caller.ts";
import { requireStepUpOfFactorHolder } from "../../rights/checks.ts";
import { definedMembers } from "../../shared/defined_members.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Versioned } from "../../shared/version.ts";
import {
  type ClientKind,
  type ClientSettings,
  clientsOf,
  isSameAudience,
  type OAuthClient,
  readClient,
  requireProviderKey,
  withoutSlash,
} from "./client.ts";
import { ownerFor } from "../../access/tenants/tenants.ts";
import type { Config } from "../../../infra/config.ts";
import { redirectUriFault } from "./redirect_uris.ts";

/** Distinguishes the secrets of clients from keys of the API. */
const SECRET_PREFIX = "ocs_";

type NewClient = ClientSettings & Pick<OAuthClient, "kind">;

/** Members to change; absent ones keep their value. The kind can only be the one that it has. */
type ClientChange = { [M in keyof NewClient]?: NewClient[M] | undefined };

/** Settings that decide which site gets sign-ins and which API accepts the tokens. A change needs a recent sign-in. */
const SENSITIVE = [
  "redirectUris",
  "postLogoutRedirectUris",
  "backchannelLogoutUri",
  "audience",
  "firstParty",
] as const;

type Changing = Pick<Platform, "sql" | "config" | "tokens" | "baseUrl">;

/**
 * Creates a client of the caller's tenant; for a system administrator in the platform tenant or without a tenant, of the
 * platform. Only this result and that of `rotateClientSecret` have the secret; a public client has none.
 * @throws VALIDATION_ERROR, MISSING_PERMISSION, OAUTH_AUDIENCE_CONFLICT, OPENID_KEY_MISSING_UNAVAILABLE
 */
export async function createClient(
  p: Changing,
  caller: Caller,
  input: NewClient,
): Promise<OAuthClient & { secret: string | null }> {
  requireProviderKey(p);
  const { kind } = input;
  requireClientRules(input, { kind, config: p.config, issuer: p.baseUrl() });
  requireMaySkipConsent(caller, input);
  const id = newId();
  const clientId = CLIENT_ID_PREFIX + randomBytes(16).toString("base64url");
  const secret = kind === "confidential" ? newKey(SECRET_PREFIX) : null;
  return await transact(p.sql, async (tx) => {
    const tenantId = await ownerFor(tx, caller); // null: the platform
    await reserveAudience(tx, input.audience, tenantId);
    await tx`insert into oauth_clients (id, client_id, tenant_id, name, kind, secret_hash, start, redirect_uris,
        post_logout_redirect_uris, audience, scopes, token_claims, token_algorithm, first_party, access_token_seconds,
        refresh_token_seconds, grant_seconds, backchannel_logout_uri, created_by)
      values (${id}, ${clientId}, ${tenantId}, ${input.name}, ${kind}, ${secret?.hash ?? null},
        ${secret?.start ?? null}, ${input.redirectUris}::text[], ${input.postLogoutRedirectUris}::text[],
        ${input.audience}, ${input.scopes}::text[], ${input.tokenClaims}::text[], ${input.tokenAlgorithm},
        ${input.firstParty}, ${input.accessTokenSeconds}, ${input.refreshTokenSeconds}, ${input.grantSeconds},
        ${input.backchannelLogoutUri}, ${caller.userId})`;
    const { value } = await readClient(tx, caller, id);
    await audit(tx, caller, "create", value, { after: { kind, ...settingsOf(value) } });
    return { ...value, secret: secret?.key ?? null };
  });
}

/**
 * Changes a client, effective for its next request. Tokens it already has keep their claims.
 * @throws STEP_UP_REQUIRED_FORBIDDEN, OAUTH_CLIENT_NOT_FOUND, PRECONDITION_FAILED, OAUTH_CLIENT_REVOKED_CONFLICT,
 * VALIDATION_ERROR (also for another kind), and see `createClient`
 */
export async function updateClient(
  p: Changing,
  caller: Caller,
  id: string,
  { kind: wantedKind, ...change }: ClientChange,
  ifMatch: string | null,
): Promise<Versioned<OAuthClient>> {
  return await transact(p.sql, async (tx) => {
    const before = await lockLiveKey<OAuthClient>(tx, clientsOf(tx, caller), id, ifMatch);
    const { kind, tenantId } = before.value;
    if (wantedKind !== undefined && wantedKind !== kind) {
      throw invalid({
        kind: [`expected ${kind}: the kind of a client cannot change; create another client`],
      });
    }
    const former = settingsOf(before.value);
    const after: ClientSettings = { ...former, ...definedMembers(change) };
    if (JSON.stringify(former) === JSON.stringify(after)) return before;
    if (SENSITIVE.some((member) => JSON.stringify(former[member]) !== JSON.stringify(after[member]))) {
      requireStepUpOfFactorHolder(caller);
    }
    requireClientRules(after, { kind, config: p.config, issuer: p.baseUrl() });
    requireMaySkipConsent(caller, former, after);
    if (after.audience !== former.audience) {
      await reserveAudience(tx, after.audience, tenantId);
      // Tokens with the former audience may still be valid.
      await tx`update oauth_audiences set left_at = now() where audience = ${withoutSlash(former.audience)}`;
    }
    await tx`update oauth_clients set name = ${after.name}, redirect_uris = ${after.redirectUris}::text[],
      post_logout_redirect_uris = ${after.postLogoutRedirectUris}::text[], audience = ${after.audience},
      scopes = ${after.scopes}::text[], token_claims = ${after.tokenClaims}::text[],
      token_algorithm = ${after.tokenAlgorithm}, first_party = ${after.firstParty},
      access_token_seconds = ${after.accessTokenSeconds}, refresh_token_seconds = ${after.refreshTokenSeconds},
      grant_seconds = ${after.grantSeconds}, backchannel_logout_uri = ${after.backchannelLogoutUri},
      version = version + 1, updated_at = now() where id = ${id}`;
    announceChange(tx, { topic: "oauth clients", ids: [id] });
    const changed = await readClient(tx, caller, id);
    await audit(tx, caller, "update", changed.value, { before: former, after });
    return changed;
  });
}

/**
 * Replaces the secret of a confidential client; the old one is refused at once.
 * @throws OAUTH_CLIENT_NOT_FOUND, PRECONDITION_FAILED, OAUTH_CLIENT_REVOKED_CONFLICT, OAUTH_CLIENT_PUBLIC_CONFLICT,
 * MISSING_PERMISSION
 */
export async function rotateClientSecret(
  p: Changing,
  caller: Caller,
  id: string,
  ifMatch: string | null,
): Promise<{ id: string; clientId: string; secret: string }> {
  const { key, hash, start } = newKey(SECRET_PREFIX);
  return await transact(p.sql, async (tx) => {
    const { value } = await lockLiveKey<OAuthClient>(tx, clientsOf(tx, caller), id, ifMatch);
    if (value.kind === "public") {
      throw problem("OAUTH_CLIENT_PUBLIC_CONFLICT", `The client ${id} is public, so it has no secret.`);
    }
    requireMaySkipConsent(caller, value);
    await tx`update oauth_clients set secret_hash = ${hash}, start = ${start}, version = version + 1,
      updated_at = now() where id = ${id}`;
    announceChange(tx, { topic: "oauth clients", ids: [id] });
    await audit(tx, caller, "rotate", value, {});
    return { id, clientId: value.clientId, secret: key };
  });
}

/**
 * Revokes a client: its users can no longer sign in to it, and its refresh tokens are refused. Does nothing if it is
 * already revoked.
 * @throws OAUTH_CLIENT_NOT_FOUND, PRECONDITION_FAILED
 */
export async function revokeClient(
  p: Changing,
  caller: Caller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const client = await revokeKey<OAuthClient>(tx, clientsOf(tx, caller), id, ifMatch, caller.userId);
    if (!client) return;
    announceChange(tx, { topic: "oauth clients", ids: [id] });
    await audit(tx, caller, "revoke", client, { before: settingsOf(client) });
  });
}

const settingsOf = (client: OAuthClient): ClientSettings => ({
  name: client.name,
  redirectUris: client.redirectUris,
  postLogoutRedirectUris: client.postLogoutRedirectUris,
  audience: client.audience,
  scopes: client.scopes,
  tokenClaims: client.tokenClaims,
  tokenAlgorithm: client.tokenAlgorithm,
  firstParty: client.firstParty,
  accessTokenSeconds: client.accessTokenSeconds,
  refreshTokenSeconds: client.refreshTokenSeconds,
  grantSeconds: client.grantSeconds,
  backchannelLogoutUri: client.backchannelLogoutUri,
});

/** The row belongs to the audit log of the client's tenant, else to that of the caller. */
async function audit(
  tx: Tx,
  caller: Caller,
  verb: string,
  { id, tenantId }: OAuthClient,
  change: { before?: unknown; after?: unknown },
): Promise<void> {
  await recordAudit(tx, caller, `oauthClient.${verb}`, id, {
    ...tenantId === null ? {} : { tenantId },
    ...change,
  });
}

/** First characters of the client ids of clients and of service accounts. ID tokens name client ids as audience. */
const CLIENT_ID_PREFIX = "oc_";
const ACCOUNT_ID_PREFIX = "sa_";

/**
 * Checks the settings of a client. The audience must be neither the service's own nor a client's id, because an API would
 * accept tokens that were issued for another purpose.
 * @throws VALIDATION_ERROR by field
 */
function requireClientRules(
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
function requireMaySkipConsent(caller: Caller, ...settings: Pick<ClientSettings, "firstParty">[]): void {
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
async function reserveAudience(tx: Tx, audience: string, tenantId: string | null): Promise<void> {
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
