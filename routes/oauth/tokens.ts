import { z } from "zod";
import { isSameAudience } from "../../domain/oauth/clients/client.ts";
import { grantToProgram, requireClient } from "../../domain/oauth/tokens/authenticate_client.ts";
import { TokenAnswer, userClaims } from "../../domain/oauth/tokens/grant.ts";
import { readLiveToken, revokeToken } from "../../domain/oauth/tokens/live_token.ts";
import { redeemCode } from "../../domain/oauth/tokens/redeem_code.ts";
import { EXCHANGE_GRANT } from "../../domain/oauth/metadata.ts";
import { ACCESS_TOKEN_TYPE, exchangeToken } from "../../domain/oauth/tokens/exchange.ts";
import { refreshGrant } from "../../domain/oauth/tokens/refresh.ts";
import { OAuthError, requireParameter } from "../../domain/oauth/oauth_error.ts";
import { requireProviderKey } from "../../domain/oauth/clients/provider_key.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { anyone } from "../../domain/rights/checks.ts";
import { type Answer, ok, okEmpty } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { clientPrincipal, clientRequest, oauthAnswer, OAuthErrorDto, oauthRefusals } from "./protocol.ts";

const endpoint = endpointsIn("OpenID provider");

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

/** Tokens for clients: issue, revoke, and the user of a token. */
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
] as const;
