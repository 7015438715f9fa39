import { readClientToken, readStreamTicket } from "../../domain/oauth/tokens/client_token.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { authenticate } from "../../domain/rights/authenticate.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import type { Call } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";
import { isScimPath } from "./problem_document.ts";

/**
 * The caller of the request, by its credential and the tenant it names; null without a credential.
 * @param spec the endpoint, if it is below `/api/v1/admin` or `/scim`, or accepts a ticket
 */
export async function callerOf(
  platform: Pick<ServicePlatform, "tokens" | "rights" | "oauthClients">,
  call: Call,
  spec?: Pick<Endpoint, "path" | "access">,
): Promise<Caller | null> {
  const { headers, url } = call.request;
  const path = spec?.path ?? ""; // that of the URL may be percent-encoded
  const namesTenant = url.includes("tenantId") || url.includes("%"); // otherwise the URL need not be parsed
  const ticket = spec?.access.forTicket ? call.url.searchParams.get("ticket") : null;
  return await authenticate(platform, {
    authorization: headers.get("authorization"),
    tenantHeader: headers.get("x-tenant-id"),
    tenantQuery: namesTenant ? call.url.searchParams.getAll("tenantId") : [],
    queryIsFilter: path.startsWith("/api/v1/admin/"),
    inOnlyTenant: isScimPath(path),
    traceId: call.traceId,
    ip: call.ip,
    readClientToken: (token) => readClientToken(platform, token),
    readTicket: ticket === null ? undefined : () => readStreamTicket(platform, ticket),
  });
}
