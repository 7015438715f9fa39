import { problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";

/**
 * Checks that ID tokens can be signed. In production the RS256 key comes only from the configuration. A service without
 * one works as before; only the OpenID provider refuses.
 * @throws OPENID_KEY_MISSING_UNAVAILABLE
 */
export function requireProviderKey({ tokens }: Pick<Platform, "tokens">): void {
  if (tokens.hasProviderKey) return;
  throw problem("OPENID_KEY_MISSING_UNAVAILABLE", "TOKEN_KEYS has no RSA key, which signs ID tokens.");
}
