import type { NotificationPlatform } from "../notifications/platform.ts";
import type { Caller } from "../rights/caller.ts";
import type { OpenIdProviders } from "../../infra/openid.ts";

/** The request of a person without a caller, for the audit log. */
export type Trace = Pick<Caller, "traceId" | "ip">;

export interface AccessPlatform extends NotificationPlatform {
  /** The configured OpenID providers by name. */
  openIdProviders: OpenIdProviders;
}
