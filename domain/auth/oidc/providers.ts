import type { OpenIdSettings } from "../../../infra/config.ts";
import { type OpenIdProvider, openIdProvider } from "../../../infra/openid.ts";
import type { Platform } from "../../shared/platform.ts";
import { problem } from "../../problems/problem.ts";

/** A configured OpenID provider, ready to be spoken to. */
export interface NamedProvider {
  name: string;
  settings: OpenIdSettings;
  openId: OpenIdProvider;
}

export type Providers = ReadonlyMap<string, NamedProvider>;

/** The OpenID providers of the configuration; none is spoken to before somebody signs in by it. */
export const openIdProviders = (
  { config, clock }: Pick<Platform, "config" | "clock">,
): Providers =>
  new Map(
    Object.entries(config.OIDC_PROVIDERS ?? {}).map(([name, settings]) => [
      name,
      { name, settings, openId: openIdProvider(settings, clock) },
    ]),
  );

/** Finds a provider by name. Throws OIDC_PROVIDER_NOT_FOUND. */
export function findProvider(providers: Providers, name: string): NamedProvider {
  const provider = providers.get(name);
  if (provider) return provider;
  throw problem("OIDC_PROVIDER_NOT_FOUND", `The service is not configured for an OpenID provider "${name}".`);
}
