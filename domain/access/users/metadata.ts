import { lostDigits } from "../../shared/exact_json.ts";
import { anyObject } from "../../shared/shapes.ts";
import { isShallow } from "../../shared/storable.ts";

/** A JSON object. */
export type Metadata = Record<string, unknown>;

const MAX_BYTES = 8_192;
const MAX_DEPTH = 10;

/** The reason why the object cannot be stored as metadata of a user; null if it can. */
export function metadataMistake(metadata: Metadata): string | null {
  if (!isShallow(metadata, MAX_DEPTH)) return `expected at most ${MAX_DEPTH} levels`;
  const { byteLength } = new TextEncoder().encode(JSON.stringify(metadata));
  return byteLength > MAX_BYTES ? `expected at most ${MAX_BYTES} bytes of JSON, found ${byteLength}` : null;
}

const described = {
  description: "Data that other systems keep about the user, at most 8 KiB of JSON and 10 levels deep",
};
export const storedMetadata = anyObject.meta(described);
export const givenMetadata = anyObject.superRefine((value, context) => {
  const mistake = metadataMistake(value);
  if (mistake) context.addIssue(mistake);
}).meta({ type: ["object", "null"], ...described, additionalProperties: true });

/** The reason why metadata of `parseExactly` cannot be stored with all its digits; null if it can. */
export function inexactMetadata(metadata: unknown): string | null {
  const lost = lostDigits(metadata, ["metadata"]);
  return lost && `${lost.path.join(".")}: ${lost.mistake}`;
}
