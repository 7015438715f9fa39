import { z } from "zod";
import { type Asker, introspect, Introspection } from "../../domain/oauth/tokens/introspection.ts";
import { OAuthError, readParameters, requireParameter } from "../../domain/oauth/oauth_error.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { Problem } from "../../domain/problems/problem.ts";
import { actAs } from "../../domain/rights/authenticate.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { anyone } from "../../domain/rights/checks.ts";
import { type Answer, ok } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";
import { callerOf } from "../shared/caller_of.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { clientPrincipal, clientRequest, oauthAnswer, OAuthErrorDto, oauthRefusals } from "./protocol.ts";

const endpoint = endpointsIn("OpenID provider");

const CHECK = "check:access";
const optional = z.string().optional();

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
async function readQuestion(
  platform: ServicePlatform,
  call: Call,
): Promise<{ asker: Asker; token: string }> {
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

async function answer(platform: ServicePlatform, call: Call): Promise<Answer> {
  const { asker, token } = await readQuestion(platform, call);
  return ok(await introspect(platform, asker, token));
}

/** Tells the API that got a token what it allows. */
export const introspectRoutes = [
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
        token_type_hint: optional,
        client_id: optional.describe("Without an Authorization header"),
        client_secret: optional,
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
    run: ({ platform, call }) => oauthAnswer(() => answer(platform, call)),
  }),
] as const;
