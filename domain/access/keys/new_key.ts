import type { Buffer } from "node:buffer";
import { KEY_PREFIX } from "../../rights/key_rights.ts";
import { digest, newSecret } from "../../shared/secrets.ts";

/** How many characters of a key are stored as plain text, so that people can recognise the key. */
const START_LENGTH = KEY_PREFIX.length + 6;

/** A new key, its hash, and its first characters. Only the hash and the start are stored. */
export function newKey(): { key: string; hash: Buffer; start: string } {
  const key = KEY_PREFIX + newSecret();
  return { key, hash: digest(key), start: key.slice(0, START_LENGTH) };
}
