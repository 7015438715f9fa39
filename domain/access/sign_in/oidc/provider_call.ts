import {
  type NamedProvider,
  type OpenIdProvider,
  type OpenIdProviders,
  OpenIdRefused,
  OpenIdUnavailable,
} from "../../../../infra/openid.ts";
import { problem } from "../../../problems/problem.ts";
import type { Platform } from "../../../shared/platform.ts";

/** Finds a provider by name. Throws OIDC_PROVIDER_NOT_FOUND. */
export function findProvider(
  { openIdProviders }: { openIdProviders: OpenIdProviders },
  name: string,
): NamedProvider {
  const provider = openIdProviders.get(name);
  if (provider) return provider;
  throw problem("OIDC_PROVIDER_NOT_FOUND", `No OpenID provider "${name}" is configured.`);
}

/**
 * Runs a call to a provider. Turns its failures into problems; their reason is only logged.
 * @throws OIDC_REFUSED_UNAUTHORIZED, OIDC_PROVIDER_UNAVAILABLE
 */
export async function callProvider<T>(
  p: Pick<Platform, "log">,
  provider: NamedProvider,
  ask: (openId: OpenIdProvider) => Promise<T>,
): Promise<T> {
  try {
    return await ask(provider.openId);
  } catch (error) {
    if (!(error instanceof OpenIdRefused || error instanceof OpenIdUnavailable)) throw error;
    p.log.warn("a sign-in by an OpenID provider failed", { provider: provider.name, reason: error.message });
    throw error instanceof OpenIdRefused
      ? problem("OIDC_REFUSED_UNAUTHORIZED", `The provider ${provider.name} did not confirm this sign-in.`)
      : problem(
        "OIDC_PROVIDER_UNAVAILABLE",
        `The provider ${provider.name} did not answer or gave an invalid answer.`,
      );
  }
}
