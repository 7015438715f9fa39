import { hasLongNumber, parseExactly } from "../../../domain/shared/exact_json.ts";
import { isShallow } from "../../../domain/shared/storable.ts";

/** The value of a JSON text, with its numbers as `parseExactly` returns them; undefined: it is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    const value = JSON.parse(text);
    return hasLongNumber(text) && isShallow(value) ? parseExactly(text) : value;
  } catch {
    return undefined;
  }
}
