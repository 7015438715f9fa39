import type { Row, Rows } from "./rows.ts";

const texts = "the same for everyone";

const account = (body?: unknown): Row => ({
  names: (id) => ({ params: { id: id("serviceAccount") }, ...(body === undefined ? {} : { body }) }),
  code: "SERVICE_ACCOUNT_NOT_FOUND",
});

/** Sign-in and operation of the service. */
export const serviceRows: Rows = {
  signIn: { open: "needs a password" },
  refresh: { open: "needs a refresh token" },
  forgotPassword: { open: "always the same answer" },
  resetPassword: { open: "needs the secret that was sent" },
  showResetPage: { open: texts },
  readOfferedInvitation: { open: "needs the secret that was sent" },
  acceptInvitation: { open: "needs the secret that was sent" },
  showInvitationPage: { open: texts },
  acceptInvitationSignedIn: { own: () => ({ body: { token: "none" } }), code: "INVITATION_INVALID" },
  listOpenIdProviders: { open: texts },
  startOpenIdSignIn: { open: texts },
  finishOpenIdSignIn: { open: "needs the state of a sign-in that was begun" },
  exchangeOpenIdCode: { open: "needs the secret that was handed over" },
  readKeys: { open: texts },
  switchTenant: { names: (id) => ({ body: { tenantId: id("tenant") } }), code: "TENANT_FORBIDDEN" },
  signOut: { own: () => ({}), throwaway: true },
  readMe: { own: () => ({}) },
  updateMe: { own: () => ({ body: { firstName: "Mallory" } }) },
  changePassword: {
    own: () => ({ body: { currentPassword: "none so far", newPassword: "correct horse battery" } }),
    code: "VALIDATION_ERROR",
    throwaway: true,
  },
  listApiKeys: { own: () => ({ query: { includeDeleted: "true" } }) },
  readApiKey: { names: (id) => ({ params: { id: id("apiKey") } }), code: "API_KEY_NOT_FOUND" },
  createApiKey: { own: () => ({ body: { name: "Outsider's", permissions: ["read:users"] } }) },
  revokeApiKey: { names: (id) => ({ params: { id: id("apiKey") } }), code: "API_KEY_NOT_FOUND" },
  listServiceAccounts: { own: () => ({ query: { includeDeleted: "true" } }) },
  readServiceAccount: account(),
  createServiceAccount: {
    own: ({ outsider }) => ({
      body: { name: "Outsider's", permissions: ["read:users"], tenants: [outsider.tenantId] },
    }),
  },
  updateServiceAccount: account({ name: "Taken over" }),
  rotateServiceAccount: account(),
  revokeServiceAccount: account(),
  listOwnSessions: { own: () => ({}) },
  endOwnSession: { names: (id) => ({ params: { id: id("session") } }), code: "SESSION_NOT_FOUND" },
  readOverview: { own: ({ ids }) => ({ query: { tenantId: ids.tenant } }) },
  health: { open: texts },
  readiness: { open: texts },
  metrics: { open: "counts of the whole service, without anybody's names" },
  readProblem: { open: texts },
  listOutbox: { open: "development only: shows every message on purpose" },
  openApi: { open: texts },
  docs: { open: texts },
  docsAsset: { open: texts },
};
