import type { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";

/** A new secret for a token, code or state: 256 random bits in base64url. */
export const newSecret = (): string => randomBytes(32).toString("base64url");

/** A new signing secret in the format of Standard Webhooks: `whsec_` and the base64 of 32 bytes. */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;

/** Hash of a secret, for storage. SHA-256 without salt is enough, because 256 random bits cannot be guessed. */
export const digest = (secret: string): Buffer => createHash("sha256").update(secret).digest();
