import { type CatalogueEntry, entry } from "./entry.ts";

/** Problems of OAuth clients. The routes under /oauth answer in the format of OAuth instead. */
export const OAUTH_PROBLEMS = {
  OAUTH_CLIENT_NOT_FOUND: entry(
    404,
    "OAuth client not found",
    "There is no OAuth client with this id, or it is not one of the caller's tenant.",
    "Check the id. Clients of the platform are managed with admin:system.",
    "This client does not exist. Reload the list.",
    "Este cliente não existe. Recarregue a lista.",
  ),
  OAUTH_CLIENT_REVOKED_CONFLICT: entry(
    409,
    "OAuth client is revoked",
    "A revoked OAuth client can neither be changed nor get a new secret.",
    "Create a new client.",
    "This client was revoked. Create a new one.",
    "Este cliente foi revogado. Crie um novo.",
  ),
  OAUTH_CLIENT_PUBLIC_CONFLICT: entry(
    409,
    "OAuth client has no secret",
    "A public client has no secret, so there is none to replace.",
    "Create a confidential client if it can keep a secret on a server.",
    "A public client has no secret.",
    "Um cliente público não tem segredo.",
  ),
  OAUTH_AUDIENCE_CONFLICT: entry(
    409,
    "Audience belongs to another owner",
    "The clients of one tenant, or of the platform, share an audience. Clients of another owner cannot use it, because the " +
      "API behind it would accept their tokens.",
    "Choose another audience, such as the URL of your own API.",
    "Clients of another owner use this audience. Choose another one.",
    "Clientes de outro proprietário usam esta audiência. Escolha outra.",
  ),
  OPENID_KEY_MISSING_UNAVAILABLE: entry(
    503,
    "The OpenID provider has no key",
    "TOKEN_KEYS has no RSA key, so the service cannot sign ID tokens. Everything but the OpenID provider works.",
    "Run `deno task rotate-keys add-rs256`, store its output as TOKEN_KEYS, and restart every instance.",
    "Signing in to other programs is not set up. Tell the operator of the service.",
    "Entrar em outros programas não está configurado. Avise o operador do serviço.",
  ),
} satisfies Record<string, CatalogueEntry>;
