import { readClientToken, readStreamTicket } from "../../domain/oauth/tokens/client_token.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { authenticate } from "../../domain/rights/authenticate.ts";
import type { Caller } from "../../domain/rights/caller.ts";
import { PATH as SCIM_PATH } from "../../domain/access/scim/schema.ts";
import { isScimPath } from "./problem_document.ts";
import type { Call } from "./call.ts";

/**
 * The caller of the request, by its credential and the tenant it names; null without a credential.
 * @param acceptsTicket true if the query parameter `ticket` may stand in place of the Authorization header
 */
export async function callerOf(
  platform: Pick<ServicePlatform, "tokens" | "rights" | "oauthClients">,
  call: Call,
  acceptsTicket = false,
): Promise<Caller | null> {
  const { headers, url } = call.request;
  const namesTenant = url.includes("tenantId") || url.includes("%"); // otherwise the URL need not be parsed
  const ticket = acceptsTicket ? call.url.searchParams.get("ticket") : null;
  return await authenticate(platform, {
    authorization: headers.get("authorization"),
    tenantHeader: headers.get("x-tenant-id"),
    tenantQuery: namesTenant ? call.url.searchParams.getAll("tenantId") : [],
    queryIsFilter: namesTenant && call.url.pathname.startsWith("/api/v1/admin/"),
    inOnlyTenant: url.includes(SCIM_PATH) && isScimPath(call.url.pathname),
    traceId: call.traceId,
    ip: call.ip,
    readClientToken: (token) => readClientToken(platform, token),
    readTicket: ticket === null ? undefined : () => readStreamTicket(platform, ticket),
  });
}
