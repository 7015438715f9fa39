import type { OpenIdSettings } from "../../../../infra/config.ts";
import { type OpenIdProvider, openIdProvider } from "../../../../infra/openid.ts";
import { problem } from "../../../problems/problem.ts";
import type { Platform } from "../../../shared/platform.ts";

/** A configured OpenID provider and its client. */
export interface NamedProvider {
  name: string;
  settings: OpenIdSettings;
  openId: OpenIdProvider;
}

/** The configured OpenID providers by name. */
export type OpenIdProviders = ReadonlyMap<string, NamedProvider>;

/** The configured OpenID providers, by name. The service contacts a provider at the first sign-in by it. */
export const createOpenIdProviders = (
  { config, clock }: Pick<Platform, "config" | "clock">,
): OpenIdProviders =>
  new Map(
    Object.entries(config.OIDC_PROVIDERS ?? {}).map(([name, settings]) => [
      name,
      { name, settings, openId: openIdProvider(settings, clock) },
    ]),
  );

/** Finds a provider by name. Throws OIDC_PROVIDER_NOT_FOUND. */
export function findProvider(
  { openIdProviders }: { openIdProviders: OpenIdProviders },
  name: string,
): NamedProvider {
  const provider = openIdProviders.get(name);
  if (provider) return provider;
  throw problem("OIDC_PROVIDER_NOT_FOUND", `No OpenID provider "${name}" is configured.`);
}
