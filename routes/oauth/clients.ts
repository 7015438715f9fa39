import { z } from "zod";
import {
  CLIENT_KINDS,
  clientsOf,
  OAuthClient,
  readClient,
  STANDARD_SCOPES,
  TOKEN_ALGORITHMS,
  TOKEN_CLAIMS,
} from "../../domain/oauth/clients/client.ts";
import {
  createClient,
  revokeClient,
  rotateClientSecret,
  updateClient,
} from "../../domain/oauth/clients/client_changes.ts";
import { KEY_SORTS, listKeys } from "../../domain/access/keys/key_record.ts";
import { afterStepUp, byPerson, inTenantOrService, signedIn } from "../../domain/rights/checks.ts";
import { ACCESS_TOKEN_SECONDS } from "../../infra/tokens.ts";
import { createdIn, noContentAfter, ok, versionedAnswer } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { listQuery, pagedResultOf } from "../shared/validation.ts";
import { enumName, requiredName, uuid } from "../../domain/shared/shapes.ts";
import {
  ConnectedClient,
  disconnectClient,
  listConnectedClients,
} from "../../domain/oauth/connected_clients.ts";

const endpoint = endpointsIn("OAuth clients");

const DAY_SECONDS = 24 * 60 * 60;
const uri = z.string().min(1).max(2000);
const uris = z.array(uri).max(50);
const scope = z.string().regex(
  /^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/,
  "expected a scope without spaces and quotes",
);

const given = {
  name: requiredName(200),
  redirectUris: uris.describe(
    "Where the browser returns after a sign-in: https, or http on a loopback host; public clients may have a " +
      "scheme of their own with a dot. Compared character by character; a public client may use any loopback port",
  ),
  postLogoutRedirectUris: uris.describe("Where the browser returns after a sign-out; the same rules"),
  audience: z.string().regex(/^[\x21-\x7e]{1,500}$/, "expected 1 to 500 visible ASCII characters").describe(
    "`aud` of its access tokens: the API they are for. The clients of one tenant may share it",
  ),
  scopes: z.array(scope).max(50).transform((scopes) => [...new Set(scopes)]).describe(
    "Scopes it may ask for. Of first-party clients only: with `steward.self`, its access tokens reach its users' own " +
      "things in this API; with `steward.files`, the file registry, with the users' file permissions",
  ),
  tokenClaims: z.array(enumName(TOKEN_CLAIMS)).max(20).transform((claims) => [...new Set(claims)]).describe(
    "Optional claims of access tokens; `permissions`: those of the user in the tenant",
  ),
  tokenAlgorithm: enumName(TOKEN_ALGORITHMS).describe(
    "Signs its access tokens. ID tokens are always signed with RS256",
  ),
  firstParty: z.boolean().describe("Its users are not asked for consent; needs admin:system"),
  accessTokenSeconds: z.int().min(60).max(DAY_SECONDS).describe("Lifetime of its access tokens"),
  refreshTokenSeconds: z.int().min(3_600).max(365 * DAY_SECONDS).describe(
    "A refresh token that is not used for this time expires; at most `grantSeconds`",
  ),
  grantSeconds: z.int().min(3_600).max(365 * DAY_SECONDS).describe(
    "After this time the user must sign in to it again, also if its refresh tokens are used",
  ),
  backchannelLogoutUri: uri.nullable().describe(
    "Where the service posts a `logout_token` when a user's session has ended (OpenID Connect " +
      "Back-Channel Logout 1.0); the same rules as for redirect URIs",
  ),
};

const secret = z.string().describe("The client secret, shown only in this answer");

const path = "/api/v1/oauth-clients";
const access = byPerson(inTenantOrService("manage:oauth-clients"));
const params = z.object({ id: uuid });
const changed = ["OAUTH_CLIENT_NOT_FOUND", "PRECONDITION_FAILED", "OAUTH_CLIENT_REVOKED_CONFLICT"] as const;

/** OAuth clients: programs that users sign in to with the service as their OpenID provider. */
export const clientRoutes = [
  endpoint(`GET ${path}`, {
    id: "listOAuthClients",
    access,
    summary: "List the OAuth clients of the tenant; with admin:system, all",
    query: z.object(listQuery(KEY_SORTS)),
    answers: {
      200: { description: "A page; includeDeleted adds revoked clients", schema: pagedResultOf(OAuthClient) },
    },
    run: async ({ db, caller, query }) => ok(await listKeys<OAuthClient>(db, clientsOf(db, caller), query)),
  }),
  endpoint(`GET ${path}/{id}`, {
    id: "readOAuthClient",
    access,
    params,
    summary: "Read an OAuth client",
    answers: { 200: { etag: true, description: "The client, without its secret", schema: OAuthClient } },
    problems: ["OAUTH_CLIENT_NOT_FOUND"],
    run: async ({ db, caller, params }) => versionedAnswer(await readClient(db, caller, params.id)),
  }),
  endpoint(`POST ${path}`, {
    id: "createOAuthClient",
    access: afterStepUp(access),
    summary: "Create an OAuth client; only this answer shows the secret of a confidential one",
    details:
      "It belongs to the tenant of the request, whose users may sign in to it. With admin:system in the platform " +
      "tenant or without a tenant, it belongs to the platform, and users of every tenant may sign in.",
    body: z.object({
      ...given,
      kind: enumName(CLIENT_KINDS),
      postLogoutRedirectUris: given.postLogoutRedirectUris.default([]),
      scopes: given.scopes.default([...STANDARD_SCOPES]),
      tokenClaims: given.tokenClaims.default([]),
      tokenAlgorithm: given.tokenAlgorithm.default("EdDSA"),
      firstParty: given.firstParty.default(false),
      accessTokenSeconds: given.accessTokenSeconds.default(ACCESS_TOKEN_SECONDS),
      refreshTokenSeconds: given.refreshTokenSeconds.default(14 * DAY_SECONDS),
      grantSeconds: given.grantSeconds.default(30 * DAY_SECONDS),
      backchannelLogoutUri: given.backchannelLogoutUri.default(null),
    }).meta({ id: "CreateOAuthClientRequest" }),
    answers: {
      201: {
        description: "Created; Location is the URL of its record",
        schema: z.object({ ...OAuthClient.shape, secret: secret.nullable() }).meta({
          id: "OAuthClientCreatedDto",
        }),
      },
    },
    creates: "a secret",
    problems: ["OAUTH_AUDIENCE_CONFLICT", "OPENID_KEY_MISSING_UNAVAILABLE"],
    run: ({ platform, caller, body }) => createdIn(path, createClient(platform, caller, body)),
  }),
  endpoint(`PUT ${path}/{id}`, {
    id: "updateOAuthClient",
    access,
    params,
    summary: "Change an OAuth client; effective at once",
    details:
      "Other redirect or logout URIs, another audience or `firstParty` need a recent sign-in of a user with a second factor.",
    body: z.object({ ...given, kind: enumName(CLIENT_KINDS) }).partial().meta({
      id: "UpdateOAuthClientRequest",
      description: "Members left out keep their value. The kind cannot change",
    }),
    answers: { 200: { etag: true, description: "Changed", schema: OAuthClient } },
    problems: [...changed, "OAUTH_AUDIENCE_CONFLICT", "STEP_UP_REQUIRED_FORBIDDEN"],
    run: async ({ platform, caller, params, body, call }) =>
      versionedAnswer(await updateClient(platform, caller, params.id, body, call.ifMatch)),
  }),
  endpoint(`POST ${path}/{id}/rotate-secret`, {
    id: "rotateOAuthClientSecret",
    access: afterStepUp(access),
    params,
    summary: "Replace the secret of an OAuth client; the old one is refused at once",
    creates: "a secret",
    answers: {
      200: {
        description: "The new secret, shown only in this answer",
        schema: z.object({ id: z.guid(), clientId: z.string(), secret }).meta({ id: "OAuthClientSecretDto" }),
      },
    },
    problems: [...changed, "OAUTH_CLIENT_PUBLIC_CONFLICT"],
    run: async ({ platform, caller, params, call }) =>
      ok(await rotateClientSecret(platform, caller, params.id, call.ifMatch)),
  }),
  endpoint(`DELETE ${path}/{id}`, {
    id: "revokeOAuthClient",
    access,
    params,
    summary: "Revoke an OAuth client; effective at once",
    answers: { 204: { description: "Revoked" } },
    problems: ["OAUTH_CLIENT_NOT_FOUND", "PRECONDITION_FAILED"],
    run: ({ platform, caller, params, call }) =>
      noContentAfter(revokeClient(platform, caller, params.id, call.ifMatch)),
  }),
] as const;

const ownEndpoint = endpointsIn("Sign-in");

/** The clients that a user signed in to. */
export const connectedClientRoutes = [
  ownEndpoint("GET /api/v1/auth/connected-clients", {
    id: "listConnectedClients",
    summary: "List the OAuth clients that the caller signed in to, or allowed scopes",
    access: byPerson(signedIn),
    answers: { 200: { description: "At most 100 clients, by name", schema: z.array(ConnectedClient) } },
    run: async ({ db, caller }) => ok(await listConnectedClients(db, caller)),
  }),
  ownEndpoint("DELETE /api/v1/auth/connected-clients/{id}", {
    id: "disconnectClient",
    summary: "Withdraw what the caller allowed an OAuth client, and end its sessions of the caller",
    access: byPerson(signedIn),
    params: z.object({ id: uuid }),
    answers: { 204: { description: "The client has no access any more, and must ask again" } },
    problems: ["OAUTH_CLIENT_NOT_FOUND"],
    run: ({ platform, caller, params }) => noContentAfter(disconnectClient(platform, caller, params.id)),
  }),
] as const;
