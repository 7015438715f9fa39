import type { NotificationPlatform } from "../notifications/platform.ts";
import type { OpenIdProviders } from "./sign_in/oidc/providers.ts";

export interface AccessPlatform extends NotificationPlatform {
  /** The configured OpenID providers by name. */
  openIdProviders: OpenIdProviders;
}
