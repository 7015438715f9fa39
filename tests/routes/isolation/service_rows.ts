import { all, named, ofPlatform, ofTenant, own, type Rows } from "./rows.ts";

const account = (body?: unknown) => named("serviceAccount", "SERVICE_ACCOUNT_NOT_FOUND", { body });
const provider = (body?: unknown) => named("signInProvider", "SIGN_IN_PROVIDER_NOT_FOUND", { body });
/** The sign-in of the outsider has neither this password nor this factor. */
const refusedProof = (body: unknown) => ({ ...own({ body }), code: "VALIDATION_ERROR" });

/** Sign-in and operation of the service. */
export const serviceRows: Rows = {
  ...all(
    `showResetPage showConfirmPage showInvitationPage showRegistrationPage listOpenIdProviders startOpenIdSignIn
    startSamlSignIn readSamlMetadata readKeys health readiness readProblem openApi docs docsAsset docsOperation`,
    { open: "the same for everyone" },
  ),
  ...all(
    `resetPassword readConfirmEmailLooks readResetLooks confirmEmail readOfferedInvitation acceptInvitation
    readRegistration confirmRegistration`,
    { open: "needs the secret that was sent" },
  ),
  ...all("readRegistrationMode readSignInOptions", { open: "the sign-in page shows it" }),
  ...all("finishOpenIdSignIn finishSamlSignIn", { open: "needs the state of a sign-in that was begun" }),
  ...all("finishSignIn readFactorChoice", { open: "needs the token of a half sign-in" }),
  signIn: { open: "needs a password" },
  refresh: { open: "needs a refresh token" },
  forgotPassword: { open: "always the same answer" },
  register: { open: "always the same answer where strangers may register" },
  acceptSamlAnswer: { open: "needs an answer that the provider signed" },
  exchangeOpenIdCode: { open: "needs the secret that was handed over" },
  startPasskeySignIn: { open: "the same for everyone but its random challenge" },
  signInByPasskey: { open: "needs a passkey" },
  metrics: { open: "counts of the whole service, without anybody's names" },
  listOutbox: { open: "development only: shows every message on purpose" },

  ...all(
    `readRegistrationSettings readSignInSettings listSignInProviders listSignInDomains listSignInSetupLinks
    createSignInSetupLink readStepUpChoice listOwnFactors startTotp startPasskey readMe listOwnSessions`,
    own(),
  ),
  updateRegistrationSettings: {
    names: (id) => ({ body: { mode: "open", roleId: id("role") } }),
    code: "ROLE_NOT_FOUND",
  },
  updateSignInSettings: {
    names: (id) => ({ body: { passwordSignIn: true, breakGlassUserIds: [id("user")] } }),
    code: "VALIDATION_ERROR",
  },
  acceptInvitationSignedIn: { ...own({ body: { token: "none" } }), code: "INVITATION_INVALID" },
  ...all(
    "readSignInProvider enableSignInProvider disableSignInProvider testSignInProvider deleteSignInProvider",
    provider(),
  ),
  createSignInProvider: {
    names: (id) => ({
      body: { kind: "Oidc", name: "O", issuer: "https://id.example", clientId: "x", roleId: id("role") },
    }),
    code: "ROLE_NOT_FOUND",
  },
  updateSignInProvider: provider({ name: "O" }),
  addSignInDomain: own({ body: { name: "outsiders.example.com" } }),
  ...all("verifySignInDomain removeSignInDomain", named("signInDomain", "SIGN_IN_DOMAIN_NOT_FOUND")),
  revokeSignInSetupLink: named("signInSetupLink", "SIGN_IN_SETUP_LINK_NOT_FOUND"),
  stepUp: refusedProof({ password: "none so far" }),
  confirmTotp: {
    names: (id) => ({ body: { factorId: id("factor"), code: "000000" } }),
    code: "FACTOR_NOT_FOUND",
  },
  addPasskey: refusedProof({ passkey: {} }),
  removeFactor: named("factor", "FACTOR_NOT_FOUND"),
  renewRecoveryCodes: { ...own(), code: "FACTOR_NOT_FOUND" },
  switchTenant: { names: (id) => ({ body: { tenantId: id("tenant") } }), code: "TENANT_FORBIDDEN" },
  signOut: { ...own(), throwaway: true },
  findOwnTenants: { own: ({ ids }) => ({ query: { ids: ids.tenant } }) },
  updateMe: own({ body: { firstName: "Mallory" } }),
  changeEmail: {
    ...refusedProof({ newEmail: "new@example.test", password: "none so far" }),
    throwaway: true,
  },
  changePassword: {
    ...refusedProof({ currentPassword: "none so far", newPassword: "correct horse battery" }),
    throwaway: true,
  },
  ...all("listApiKeys listServiceAccounts", own({ query: { includeDeleted: "true" } })),
  ...all("readApiKey rotateApiKey revokeApiKey", named("apiKey", "API_KEY_NOT_FOUND")),
  createApiKey: own({ body: { name: "Outsider's", permissions: ["read:users"] } }),
  ...all("readServiceAccount rotateServiceAccount revokeServiceAccount", account()),
  createServiceAccount: {
    own: ({ outsider }) => ({
      body: { name: "Outsider's", permissions: ["read:users"], tenants: [outsider.tenantId] },
    }),
  },
  updateServiceAccount: account({ name: "Taken over" }),
  endOwnSession: named("session", "SESSION_NOT_FOUND"),
  ...all("listUsage readOverview readTimeline readUpcoming", ofTenant()),
  ...all("readDataHealth listDeployMarks", ofPlatform()),
  createDeployMark: ofPlatform(() => ({ body: { label: "Outsider's" } })),
  compareDeployMark: ofPlatform((id) => ({ params: { id: id("tenant") } })),
};
