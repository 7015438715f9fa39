import { apiKeyRoutes } from "./api_keys.ts";
import { acceptInvitationRoutes } from "./invitations.ts";
import { emailChangeRoutes } from "./email_change.ts";
import { factorSignInRoutes } from "./factor_sign_in.ts";
import { factorRoutes } from "./factors.ts";
import { keyRoutes } from "./keys.ts";
import { oidcRoutes } from "./oidc.ts";
import { ownAccountRoutes } from "./own_account.ts";
import { passwordResetRoutes } from "./password_reset.ts";
import { registrationRoutes } from "./registration.ts";
import { samlRoutes } from "./saml.ts";
import { serviceAccountRoutes } from "./service_accounts.ts";
import { signInProviderRoutes } from "./sign_in_providers.ts";
import { signInSettingsRoutes } from "./sign_in_settings.ts";
import { signInSetupRoutes } from "./sign_in_setup.ts";
import { signInRoutes } from "./sign_in.ts";

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
