import { z } from "zod";
import { isSameAudience, requireProviderKey } from "../../domain/oauth/clients/client.ts";
import { EXCHANGE_GRANT, providerMetadata } from "../../domain/oauth/metadata.ts";
import { OAuthError, readParameters, requireParameter } from "../../domain/oauth/oauth_error.ts";
import { grantToProgram, requireClient } from "../../domain/oauth/tokens/authenticate_client.ts";
import { ACCESS_TOKEN_TYPE, exchangeToken } from "../../domain/oauth/tokens/exchange.ts";
import { TokenAnswer, userClaims } from "../../domain/oauth/tokens/grant.ts";
import { type Asker, introspect, Introspection } from "../../domain/oauth/tokens/introspection.ts";
import { readLiveToken, revokeToken } from "../../domain/oauth/tokens/live_token.ts";
import { redeemCode } from "../../domain/oauth/tokens/redeem_code.ts";
import { refreshGrant } from "../../domain/oauth/tokens/refresh.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { Problem } from "../../domain/problems/problem.ts";
import { actAs } from "../../domain/rights/authenticate.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { anyone } from "../../domain/rights/checks.ts";
import { type Answer, ok, okEmpty } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";
import { callerOf } from "../shared/caller_of.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { clientPrincipal, clientRequest, oauthAnswer, OAuthErrorDto, oauthRefusals } from "./protocol.ts";

const endpoint = endpointsIn("OpenID provider");

const ProviderMetadata = z.looseObject({
  issuer: z.url(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  jwks_uri: z.url(),
}).meta({ id: "OpenIdProviderMetadata" });

/** The provider's metadata, from which clients configure themselves. */
export const discoveryRoutes = [
  endpoint("GET /.well-known/openid-configuration", {
    alsoAt: ["/.well-known/oauth-authorization-server"],
    id: "readProviderMetadata",
    summary: "Read the metadata of the OpenID provider",
    access: anyone,
    service: "essential",
    anyOrigin: true,
    answers: { 200: { description: "Endpoints and features", schema: ProviderMetadata } },
    problems: ["OPENID_KEY_MISSING_UNAVAILABLE"],
    run: ({ platform }) => ok(providerMetadata(platform), { "cache-control": "public, max-age=300" }),
  }),
] as const;

const text = z.string().optional();
const client = {
  client_id: text.describe("Without an Authorization header of type Basic"),
  client_secret: text,
};

const UserInfoDto = z.object({
  sub: z.guid(),
  tenant_id: z.guid().optional(),
  name: z.string().optional(),
  given_name: z.string().optional(),
  family_name: z.string().optional(),
  email: z.string().optional(),
  email_verified: z.boolean().optional().describe(
    "True once a link that was mailed to this address was used",
  ),
}).meta({ id: "UserInfo" });

async function issueTokens(platform: ServicePlatform, call: Call): Promise<Answer> {
  requireProviderKey(platform);
  const { by, parameters } = await clientRequest(platform, call);
  const grantType = requireParameter(parameters, "grant_type");
  const audience = "client" in by ? by.client.audience : platform.config.TOKEN_AUDIENCE;
  const resource = parameters.get("resource");
  if (resource !== undefined && !isSameAudience(resource, audience)) { // RFC 8707
    throw new OAuthError("invalid_target", "The resource must be the audience of the client.");
  }
  switch (grantType) {
    case "authorization_code":
      return ok(await redeemCode(platform, requireClient(by), parameters));
    case "refresh_token":
      return ok(await refreshGrant(platform, requireClient(by), parameters));
    case EXCHANGE_GRANT:
      return ok(await exchangeToken(platform, requireClient(by), parameters));
    case "client_credentials":
      return ok(await grantToProgram(platform, by, parameters));
    default:
      throw new OAuthError(
        "unsupported_grant_type",
        `The grant_type must be authorization_code, refresh_token, client_credentials or ${EXCHANGE_GRANT}.`,
      );
  }
}

/** RFC 6750, 3.1: a request without a token made no mistake, so the header names no error. */
const withoutToken: Answer = {
  status: 401,
  headers: { "www-authenticate": 'Bearer realm="steward"' },
  body: { error: "invalid_token", error_description: "The access token is missing." },
};

async function readUserInfo(platform: ServicePlatform, call: Call): Promise<Answer> {
  const authorization = call.request.headers.get("authorization");
  if (authorization === null) return withoutToken;
  const bearer = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  const token = bearer === undefined ? null : await readLiveToken(platform, bearer);
  if (!token?.user) throw new OAuthError("invalid_token", "The access token gives no access to a user.");
  if (!token.scopes.includes("openid")) {
    throw new OAuthError("insufficient_scope", "The access token lacks the scope openid.");
  }
  const { id, tenantId } = token.user;
  return ok({
    sub: id,
    ...tenantId === null ? {} : { tenant_id: tenantId },
    ...await userClaims(platform.sql, id, token.scopes),
  });
}

const userInfo = {
  access: anyone,
  anyOrigin: true,
  answers: {
    200: {
      description: "The user of the access token; the claims depend on its scopes",
      schema: UserInfoDto,
    },
    ...oauthRefusals,
    403: { description: "The scope `openid` is missing", schema: OAuthErrorDto },
  },
} as const;

const CHECK = "check:access";

/** Tokens for clients: issue, revoke, what one allows, and its user. */
export const tokenRoutes = [
  endpoint("POST /oauth/token", {
    id: "issueOAuthTokens",
    summary:
      "Exchange a code, a refresh token, a program's secret or a delegation for tokens (RFC 6749, 8693)",
    access: anyone,
    anyOrigin: true,
    principal: clientPrincipal,
    content: {
      form: z.object({
        grant_type: z.enum(["authorization_code", "refresh_token", "client_credentials", EXCHANGE_GRANT]),
        code: text,
        redirect_uri: text.describe("May be left out; otherwise that of the authorization request"),
        code_verifier: text,
        refresh_token: text,
        subject_token: text.describe("The token of a delegation, to exchange"),
        subject_token_type: text.describe(ACCESS_TOKEN_TYPE),
        requested_token_type: text.describe("The same; may be left out"),
        scope: text,
        resource: text.describe("The audience of the client; no other is possible (RFC 8707)"),
        ...client,
      }),
    },
    answers: { 200: { description: "The tokens", schema: TokenAnswer }, ...oauthRefusals },
    problems: ["OPENID_KEY_MISSING_UNAVAILABLE"],
    async run({ platform, call }) {
      const answer = await oauthAnswer(() => issueTokens(platform, call));
      return { ...answer, headers: { ...answer.headers, pragma: "no-cache" } }; // RFC 6749, 5.1
    },
  }),
  endpoint("POST /oauth/revoke", {
    id: "revokeOAuthToken",
    summary: "Revoke a refresh or access token, and with it its grant (RFC 7009)",
    access: anyone,
    anyOrigin: true,
    principal: clientPrincipal,
    content: { form: z.object({ token: z.string(), token_type_hint: text, ...client }) },
    answers: { 200: { description: "The token gives no access any more, or never did" }, ...oauthRefusals },
    run: ({ platform, call }) =>
      oauthAnswer(async () => {
        const { by, parameters } = await clientRequest(platform, call);
        await revokeToken(platform, requireClient(by), parameters);
        return okEmpty();
      }),
  }),
  endpoint("GET /oauth/userinfo", {
    ...userInfo,
    id: "readUserInfo",
    summary: "Read the claims about the user of an access token",
    run: ({ platform, call }) => oauthAnswer(() => readUserInfo(platform, call)),
  }),
  endpoint("POST /oauth/userinfo", {
    ...userInfo,
    id: "readUserInfoByPost",
    summary: "The same as GET",
    run: ({ platform, call }) => oauthAnswer(() => readUserInfo(platform, call)),
  }),
  endpoint("POST /oauth/introspect", {
    id: "introspectToken",
    summary: "Ask what an access token or key allows now (RFC 7662)",
    details:
      "A confidential client asks about the tokens for its audience. A service account with `check:access` asks about the " +
      "tokens and keys of its tenants, with its secret as bearer token or by client id and secret; `X-Tenant-ID` names one " +
      "tenant. Every other token is not active, and so is one that is expired, revoked or malformed.",
    access: anyone,
    principal: async (platform, call) =>
      isBearer(call)
        ? (await bearerCaller(platform, call).catch(() => null))?.userId ?? null
        : await clientPrincipal(platform, call),
    content: {
      form: z.object({
        token: z.string(),
        token_type_hint: text,
        client_id: text.describe("Without an Authorization header"),
        client_secret: text,
      }),
    },
    answers: {
      200: { description: "`active` alone if the token is not active", schema: Introspection },
      ...oauthRefusals,
      403: {
        description: "The service account lacks `check:access`, or acts not in the tenant",
        schema: OAuthErrorDto,
      },
    },
    run: ({ platform, call }) =>
      oauthAnswer(async () => {
        const { asker, token } = await readQuestion(platform, call);
        return ok(await introspect(platform, asker, token));
      }),
  }),
] as const;

const isBearer = (call: Call): boolean => /^Bearer\b/i.test(call.request.headers.get("authorization") ?? "");

/** The caller of a request with a bearer token. @throws OAuthError, and Problem for a tenant of others */
async function bearerCaller(platform: ServicePlatform, call: Call): Promise<Caller | null> {
  try {
    return call.caller ??= await callerOf(platform, call);
  } catch (error) {
    if (error instanceof Problem && error.status === 401) {
      throw new OAuthError("invalid_token", error.message);
    }
    throw error;
  }
}

/** Who asks, and about which token. */
async function readQuestion(platform: ServicePlatform, call: Call): Promise<{ asker: Asker; token: string }> {
  if (isBearer(call)) {
    const asker = requireAccount(await bearerCaller(platform, call));
    return { asker, token: requireParameter(readParameters(await call.readForm()), "token") };
  }
  const { by, parameters } = await clientRequest(platform, call);
  const token = requireParameter(parameters, "token");
  if ("account" in by) {
    const { headers } = call.request;
    const tenantHeader = headers.get("x-tenant-id");
    const acting = { tenantHeader, traceId: call.traceId, ip: call.ip };
    return { asker: requireAccount(await actAs(platform, acting, by.account)), token };
  }
  const { kind, audience } = by.client;
  if (kind === "confidential") return { asker: { audience }, token };
  throw new OAuthError("unauthorized_client", "A public client cannot ask about tokens.");
}

function requireAccount(caller: Caller | null): Asker {
  if (!caller?.serviceAccount) {
    throw new OAuthError("invalid_token", "Only a client or a service account may ask about tokens.");
  }
  const { userId, tenantId, serviceAccount } = caller;
  if (serviceAccount.permissions.has(CHECK)) return { userId, tenantId, serviceAccount };
  throw new OAuthError("insufficient_scope", `The service account does not hold ${CHECK}.`);
}
