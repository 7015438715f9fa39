import type { Row, Rows } from "./rows.ts";

const client = (body?: unknown): Row => ({
  names: (id) => ({ params: { id: id("oauthClient") }, ...(body === undefined ? {} : { body }) }),
  code: "OAUTH_CLIENT_NOT_FOUND",
});

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
  readProviderMetadata: { open: "the same for everyone" },
};
