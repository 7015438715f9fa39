import type { NotificationPlatform } from "../notifications/platform.ts";
import type { OpenIdProviders } from "../../infra/openid.ts";

export interface AccessPlatform extends NotificationPlatform {
  /** The configured OpenID providers by name. */
  openIdProviders: OpenIdProviders;
}
