import type { AccessPlatform } from "../access/platform.ts";
import type { KnownClients } from "./clients/known_clients.ts";

export interface OAuthPlatform extends AccessPlatform {
  /** The live OAuth clients by client id, cached. */
  oauthClients: KnownClients;
}
