import { randomBytes } from "node:crypto";
import { announceChange } from "../../../infra/postgres/changes.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { newKey } from "../../access/keys/new_key.ts";
import { recordAudit } from "../../audit/audit.ts";
import { invalid, problem } from "../../problems/problem.ts";
import { type Caller } from "../../rights/caller.ts";
import { requireStepUpOfFactorHolder } from "../../rights/checks.ts";
import { definedMembers } from "../../shared/defined_members.ts";
import { newId } from "../../shared/ids.ts";
import type { Platform } from "../../shared/platform.ts";
import { requireVersion } from "../../shared/version.ts";
import type { Versioned } from "../../shared/versioned.ts";
import { requireProviderKey } from "./provider_key.ts";
import { type ClientKind, type ClientSettings, type OAuthClient, readClient } from "./client.ts";
import {
  CLIENT_ID_PREFIX,
  leaveAudience,
  requireClientRules,
  requireMaySkipConsent,
  reserveAudience,
} from "./client_rules.ts";
import { ownerFor } from "../../access/tenants/owner.ts";

/** Distinguishes the secrets of clients from keys of the API. */
const SECRET_PREFIX = "ocs_";

export interface NewClient extends ClientSettings {
  kind: ClientKind;
}

/** Members to change; absent ones keep their value. */
export type ClientChange = { [M in keyof ClientSettings]?: ClientSettings[M] | undefined } & {
  /** Only the one that it has. */
  kind?: ClientKind | undefined;
};

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
 * @throws STEP_UP_REQUIRED_FORBIDDEN, OAUTH_CLIENT_NOT_FOUND, PRECONDITION_FAILED, OAUTH_CLIENT_REVOKED_CONFLICT, VALIDATION_ERROR (also for another
 * kind), and see `createClient`
 */
export async function updateClient(
  p: Changing,
  caller: Caller,
  id: string,
  { kind: wantedKind, ...change }: ClientChange,
  ifMatch: string | null,
): Promise<Versioned<OAuthClient>> {
  return await transact(p.sql, async (tx) => {
    const before = await lockLive(tx, caller, id, ifMatch);
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
      await leaveAudience(tx, former.audience);
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
    const { value } = await lockLive(tx, caller, id, ifMatch);
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
    const { value, version } = await readClient(tx, caller, id, true);
    requireVersion(ifMatch, version);
    if (value.revokedAt) return;
    await tx`update oauth_clients set revoked_at = now(), revoked_by = ${caller.userId}, version = version + 1,
      updated_at = now() where id = ${id}`;
    announceChange(tx, { topic: "oauth clients", ids: [id] });
    await audit(tx, caller, "revoke", value, { before: settingsOf(value) });
  });
}

/** Locks a client that is not revoked. */
async function lockLive(
  tx: Tx,
  caller: Caller,
  id: string,
  ifMatch: string | null,
): Promise<Versioned<OAuthClient>> {
  const client = await readClient(tx, caller, id, true);
  requireVersion(ifMatch, client.version);
  if (!client.value.revokedAt) return client;
  throw problem("OAUTH_CLIENT_REVOKED_CONFLICT", `The OAuth client ${id} was revoked.`);
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
