import { createSecretBox, type SecretBox } from "../../../../infra/encryption.ts";
import { problem } from "../../../problems/problem.ts";
import type { Platform } from "../../../shared/platform.ts";
import type { ProviderRow } from "./provider.ts";

type Keys = Pick<Platform["config"], "TARGET_KEYS">;

/** @throws SIGN_IN_SECRETS_UNAVAILABLE without TARGET_KEYS */
function secretBox({ TARGET_KEYS }: Keys): SecretBox {
  if (TARGET_KEYS) return createSecretBox(TARGET_KEYS);
  throw problem(
    "SIGN_IN_SECRETS_UNAVAILABLE",
    "A client secret can be neither stored nor read: the service has no TARGET_KEYS.",
  );
}

/** Encrypts the client secret of a provider for storage. @throws SIGN_IN_SECRETS_UNAVAILABLE */
export const sealClientSecret = (keys: Keys, providerId: string, secret: string): string =>
  secretBox(keys).encrypt(new TextEncoder().encode(secret), providerId);

/** The client secret of a provider; undefined: a public client. @throws SIGN_IN_SECRETS_UNAVAILABLE, DecryptionFailed */
export const openClientSecret = (
  keys: Keys,
  { id, clientSecret }: Pick<ProviderRow, "id" | "clientSecret">,
): string | undefined =>
  clientSecret === null ? undefined : new TextDecoder().decode(secretBox(keys).decrypt(clientSecret, id));
