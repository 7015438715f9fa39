import type { JWK } from "jose";
import { join } from "node:path";
import { readOrCreateTokenKeys } from "../../infra/signing_keys.ts";

/** All test runs of a checkout keep it here, because making an RSA key takes seconds of processor time. */
const CACHE = join(import.meta.dirname ?? ".", "..", "..", "node_modules", ".cache", "steward-tests");

/** A private RSA key of 3072 bits, always the same one. */
export async function rsaKey(): Promise<JWK> {
  await Deno.mkdir(CACHE, { recursive: true });
  const [key] = await readOrCreateTokenKeys(CACHE, "RS256");
  if (!key) throw new Error(`there is no key in ${CACHE}`);
  return key;
}
