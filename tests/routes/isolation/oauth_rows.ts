import { named, type Rows } from "./rows.ts";

const client = (body?: unknown) => named("oauthClient", "OAUTH_CLIENT_NOT_FOUND", { body });

/** The OpenID provider. */
export const oauthRows: Rows = {
  listOAuthClients: { own: () => ({ query: { includeDeleted: "true" } }) },
  readOAuthClient: client(),
  createOAuthClient: {
    own: () => ({
      body: {
        name: "Outsider's",
        kind: "confidential",
        redirectUris: ["https://outsider.test/"],
        audience: "https://outsider.test",
      },
    }),
  },
  updateOAuthClient: client({ name: "Taken over" }),
  rotateOAuthClientSecret: client(),
  revokeOAuthClient: client(),
  issueOAuthTokens: { open: "needs a code, a refresh token or a secret" },
  revokeOAuthToken: { open: "needs the token and its client" },
  introspectToken: { open: "needs a secret" },
  readUserInfo: { open: "needs an access token of a client" },
  readUserInfoByPost: { open: "needs an access token of a client" },
  authorizeClient: { open: "needs the cookie of a browser" },
  authorizeClientByForm: { open: "needs the cookie of a browser" },
  signOutByClient: { open: "needs the cookie of a browser or an ID token" },
  signOutByClientForm: { open: "needs the cookie of a browser or an ID token" },
  listConnectedClients: { own: () => ({}) },
  disconnectClient: client(),
  readProviderMetadata: { open: "the same for everyone" },
};
