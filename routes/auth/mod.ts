import { apiKeyRoutes } from "./api_keys.ts";
import { acceptInvitationRoutes } from "./invitations.ts";
import { emailChangeRoutes, ownAccountRoutes } from "./own_account.ts";
import { factorRoutes, factorSignInRoutes } from "./factors.ts";
import { oidcRoutes, samlRoutes } from "./provider_sign_in.ts";
import { passwordResetRoutes } from "./password_reset.ts";
import { registrationRoutes } from "./registration.ts";
import { serviceAccountRoutes } from "./service_accounts.ts";
import { signInProviderRoutes, signInSettingsRoutes, signInSetupRoutes } from "./sign_in_providers.ts";
import { keyRoutes, signInRoutes } from "./sign_in.ts";

/** Every route of sign-in. */
export const authRoutes = [
  ...signInRoutes,
  ...factorSignInRoutes,
  ...factorRoutes,
  ...ownAccountRoutes,
  ...passwordResetRoutes,
  ...acceptInvitationRoutes,
  ...registrationRoutes,
  ...emailChangeRoutes,
  ...oidcRoutes,
  ...samlRoutes,
  ...signInProviderRoutes,
  ...signInSettingsRoutes,
  ...signInSetupRoutes,
  ...apiKeyRoutes,
  ...serviceAccountRoutes,
  ...keyRoutes,
] as const;
