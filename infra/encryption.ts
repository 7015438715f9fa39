import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";

const ALGORITHM = "aes-256-gcm";
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Thrown if none of the keys decrypts a stored text. */
export class DecryptionFailed extends Error {
  override name = "DecryptionFailed";
}

/** Encrypts short secrets for storage (AES-256-GCM). */
export interface SecretBox {
  /** @param boundTo what the secret belongs to, such as the id of its row: only with it can the text be decrypted */
  encrypt(secret: Uint8Array, boundTo: string): string;
  /** @throws DecryptionFailed */
  decrypt(stored: string, boundTo: string): Uint8Array;
}

/**
 * A box with these keys of 32 bytes in base64. The first encrypts, all decrypt, so that keys can be replaced. A stored
 * text is `id.content`: the id of its key, then nonce, content and tag in base64url.
 */
export function createSecretBox(keys: readonly string[]): SecretBox {
  const byId = new Map(keys.map((text) => {
    const key = Buffer.from(text, "base64");
    return [createHash("sha256").update(key).digest("hex").slice(0, 8), key];
  }));
  const [newest] = byId;
  if (!newest) throw new Error("no encryption key was given; expected at least one");
  return {
    encrypt(secret, boundTo) {
      const [id, key] = newest;
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(boundTo));
      const sealed = Buffer.concat([iv, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
      return `${id}.${sealed.toString("base64url")}`;
    },
    decrypt(stored, boundTo) {
      const [id = "", content = ""] = stored.split(".");
      const key = byId.get(id);
      if (!key) {
        throw new DecryptionFailed(`the secret was encrypted with key ${id}, which is not configured`);
      }
      const sealed = Buffer.from(content, "base64url");
      try {
        const decipher = createDecipheriv(ALGORITHM, key, sealed.subarray(0, IV_BYTES))
          .setAAD(Buffer.from(boundTo)).setAuthTag(sealed.subarray(-TAG_BYTES));
        return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      } catch (cause) {
        throw new DecryptionFailed("the stored secret is damaged or belongs to something else", { cause });
      }
    },
  };
}
