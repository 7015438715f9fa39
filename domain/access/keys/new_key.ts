import type { Buffer } from "node:buffer";
import { KEY_PREFIX } from "../../rights/key_rights.ts";
import { digest, newSecret } from "../../shared/secrets.ts";

/** Number of characters after a key's prefix that are stored as plain text, so that people recognise the key. */
const SHOWN_LENGTH = 6;

/** A new key, its hash, and its first characters. Only the hash and the start are stored. */
export function newKey(prefix = KEY_PREFIX): { key: string; hash: Buffer; start: string } {
  const key = prefix + newSecret();
  return { key, hash: digest(key), start: key.slice(0, prefix.length + SHOWN_LENGTH) };
}
