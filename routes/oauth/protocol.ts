import { z } from "zod";
import { authenticateClient, type Authenticated } from "../../domain/oauth/tokens/authenticate_client.ts";
import { OAuthError, type Parameters, readParameters } from "../../domain/oauth/oauth_error.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import type { Answer } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";

export const OAuthErrorDto = z.object({ error: z.string(), error_description: z.string() }).meta({
  id: "OAuthError",
});

/** Describes the parameter `ui_locales` of pages. */
export const UI_LOCALES_TEXT = "Languages of the pages, the preferred one first: `pt-BR en`";

/** The refusals of a page of the provider that are no page. */
export const formRefusals = {
  408: { description: "The form arrived too slowly", schema: OAuthErrorDto },
  413: { description: "The form is too large", schema: OAuthErrorDto },
  415: { description: "The body is no form", schema: OAuthErrorDto },
  429: { description: "Too many requests or failures", schema: OAuthErrorDto },
};

/** The refusals of a route of the provider, in the format of OAuth. */
export const oauthRefusals = {
  400: { description: "Refused; `error` is a code of RFC 6749", schema: OAuthErrorDto },
  401: { description: "The client or the token is not accepted", schema: OAuthErrorDto },
  ...formRefusals,
};

const STATUS: Partial<Record<OAuthError["error"], number>> = {
  invalid_client: 401,
  invalid_token: 401,
  insufficient_scope: 403,
};

/** Runs a route of the provider and answers its `OAuthError`. Other refusals get the format of OAuth by their path. */
export async function oauthAnswer(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (failure) {
    if (failure instanceof OAuthError) return refusal(failure);
    throw failure;
  }
}

/** RFC 6750, 3: a refused token is described in the header. RFC 6749, 5.2: a refused client learns how to authenticate. */
function refusal({ error, message }: OAuthError): Answer {
  const quoted = message.replaceAll(/[^\x20-\x7e]|["\\]/g, "'");
  const challenge: Partial<Record<OAuthError["error"], string>> = {
    invalid_client: 'Basic realm="steward"',
    invalid_token: `Bearer realm="steward", error="${error}", error_description="${quoted}"`,
    insufficient_scope: `Bearer realm="steward", error="${error}", error_description="${quoted}"`,
  };
  const header = challenge[error];
  return {
    status: STATUS[error] ?? 400,
    headers: header === undefined ? {} : { "www-authenticate": header },
    body: { error, error_description: message },
  };
}

/** The form of a request and the client that sent it. */
export interface ClientRequest {
  by: Authenticated;
  parameters: Parameters;
}

const requests = new WeakMap<Call, Promise<ClientRequest>>();

/** Reads the form of a request and authenticates its client, once for each request. @throws OAuthError, Problem */
export function clientRequest(platform: ServicePlatform, call: Call): Promise<ClientRequest> {
  let request = requests.get(call);
  if (!request) requests.set(call, request = read(platform, call));
  return request;
}

async function read(platform: ServicePlatform, call: Call): Promise<ClientRequest> {
  const parameters = readParameters(await call.readForm());
  const authorization = call.request.headers.get("authorization");
  const by = await authenticateClient(platform, { authorization, parameters, ip: call.ip });
  if ("client" in by) platform.oauthClients.recordUse(by.client);
  return { by, parameters };
}

/** The quota of a request counts for its client, if that has proved who it is. */
export async function clientPrincipal(platform: ServicePlatform, call: Call): Promise<string | null> {
  const request = await clientRequest(platform, call).catch(() => null); // `run` answers the refusal
  if (!request) return null;
  const { by } = request;
  if ("account" in by) return by.account.id;
  return by.client.kind === "confidential" ? by.client.id : null;
}
