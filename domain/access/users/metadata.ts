import { lostDigits } from "../../shared/exact_json.ts";
import { isShallow } from "../../shared/storable.ts";
import type { Metadata } from "./user_details.ts";

const MAX_BYTES = 8_192;
const MAX_DEPTH = 10;

/** The reason why the object cannot be stored as metadata of a user; null if it can. */
export function metadataMistake(metadata: Metadata): string | null {
  if (!isShallow(metadata, MAX_DEPTH)) return `expected at most ${MAX_DEPTH} levels`;
  const { byteLength } = new TextEncoder().encode(JSON.stringify(metadata));
  return byteLength > MAX_BYTES ? `expected at most ${MAX_BYTES} bytes of JSON, found ${byteLength}` : null;
}

/** The reason why metadata of `parseExactly` cannot be stored with all its digits; null if it can. */
export function inexactMetadata(metadata: unknown): string | null {
  const lost = lostDigits(metadata, ["metadata"]);
  return lost && `${lost.path.join(".")}: ${lost.mistake}`;
}
