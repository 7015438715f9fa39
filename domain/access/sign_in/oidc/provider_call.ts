import {
  guardedFetch,
  type NamedProvider,
  type OpenIdProvider,
  openIdProvider,
  OpenIdRefused,
  OpenIdUnavailable,
} from "../../../../infra/openid.ts";
import { problem } from "../../../problems/problem.ts";
import type { Platform } from "../../../shared/platform.ts";
import type { AccessPlatform } from "../../platform.ts";
import { openClientSecret, type ProviderRow } from "../providers/provider.ts";

/** The usual names of claims (OpenID Connect Core, 5.1). */
export const claimNamesOf = ({ claims }: Pick<ProviderRow, "claims">) => ({
  email: claims.email ?? "email",
  firstName: claims.firstName ?? "given_name",
  lastName: claims.lastName ?? "family_name",
  groups: claims.groups,
});

/** The client of a tenant's provider, which reaches no address that the tenant's callers may not reach. */
export function tenantClient(
  { config, clock }: Pick<AccessPlatform, "config" | "clock">,
  row: ProviderRow,
): Pick<NamedProvider, "name" | "openId"> {
  const { issuer, clientId } = row.connection;
  if (issuer === null || clientId === null) {
    throw new Error(`the provider ${row.id} has no issuer or client id`);
  }
  const { email, groups } = claimNamesOf(row);
  const clientSecret = openClientSecret(config, row);
  const openId = openIdProvider({
    issuer,
    clientId,
    clientSecret,
    clientAuthentication: "supported",
    scopes: ["openid", "email", "profile"],
    optionalScopes: groups === null ? [] : [groups],
    claims: groups === null ? [email] : [email, groups],
    fetch: guardedFetch(config.OUTBOUND_ALLOW),
  }, clock);
  return { name: row.id, openId };
}

/**
 * Runs a call to a provider. Turns its failures into problems; their reason is only logged, and the cause of the problem.
 * @throws OIDC_REFUSED_UNAUTHORIZED, OIDC_PROVIDER_UNAVAILABLE
 */
export async function callProvider<T>(
  p: Pick<Platform, "log">,
  provider: Pick<NamedProvider, "name" | "openId">,
  ask: (openId: OpenIdProvider) => Promise<T>,
): Promise<T> {
  try {
    return await ask(provider.openId);
  } catch (cause) {
    if (!(cause instanceof OpenIdRefused || cause instanceof OpenIdUnavailable)) throw cause;
    p.log.warn("a sign-in by an OpenID provider failed", { provider: provider.name, reason: cause.message });
    throw cause instanceof OpenIdRefused
      ? problem("OIDC_REFUSED_UNAUTHORIZED", `The provider ${provider.name} did not confirm this sign-in.`, {
        cause,
      })
      : problem(
        "OIDC_PROVIDER_UNAVAILABLE",
        `The provider ${provider.name} did not answer or gave an invalid answer.`,
        { cause },
      );
  }
}
