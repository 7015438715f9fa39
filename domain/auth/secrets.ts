import type { Buffer } from "node:buffer";
import { createHash, randomBytes } from "node:crypto";

/** A new secret for a token, code or state: 256 random bits in base64url. */
export const newSecret = (): string => randomBytes(32).toString("base64url");

/** What is stored of such a secret. A plain hash is enough: nobody guesses 256 bits. */
export const digest = (secret: string): Buffer => createHash("sha256").update(secret).digest();
