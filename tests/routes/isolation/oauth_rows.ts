import { all, named, own, type Rows } from "./rows.ts";

const client = (body?: unknown) => named("oauthClient", "OAUTH_CLIENT_NOT_FOUND", { body });

/** The OpenID provider. */
export const oauthRows: Rows = {
  listOAuthClients: own({ query: { includeDeleted: "true" } }),
  ...all("readOAuthClient rotateOAuthClientSecret revokeOAuthClient disconnectClient", client()),
  createOAuthClient: own({
    body: {
      name: "Outsider's",
      kind: "confidential",
      redirectUris: ["https://outsider.test/"],
      audience: "https://outsider.test",
    },
  }),
  updateOAuthClient: client({ name: "Taken over" }),
  issueOAuthTokens: { open: "needs a code, a refresh token or a secret" },
  revokeOAuthToken: { open: "needs the token and its client" },
  introspectToken: { open: "needs a secret" },
  ...all("readUserInfo readUserInfoByPost", { open: "needs an access token of a client" }),
  ...all("authorizeClient authorizeClientByForm", { open: "needs the cookie of a browser" }),
  ...all("signOutByClient signOutByClientForm", { open: "needs the cookie of a browser or an ID token" }),
  listConnectedClients: own(),
  readProviderMetadata: { open: "the same for everyone" },
};
