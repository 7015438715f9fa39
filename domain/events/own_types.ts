import { Buffer } from "node:buffer";
import { type EventTypes, isBuiltIn } from "./event_types.ts";

export const MAX_TYPE_LENGTH = 100;
/** The form of event types: words with dots between them. */
export const EVENT_TYPE = /^(?=.{1,100}$)[a-z0-9]+(\.[a-z0-9-]+)+$/;
const MAX_BYTES = 64 * 1024;

/**
 * The reason why a type cannot be one of a caller's own events; null if it can.
 * @param declared the types of the service and its extensions, which no caller may emit, because receivers rely on them
 */
export function ownTypeMistake(type: string, declared: Pick<EventTypes, "has">): string | null {
  if (!EVENT_TYPE.test(type)) {
    return `expected words with dots between them, such as invoice.paid, of at most ${MAX_TYPE_LENGTH} characters`;
  }
  if (isBuiltIn(type)) return "this type is built in; only the service emits it";
  return declared.has(type) ? "an extension declares this type; only the service emits it" : null;
}

/** The reason why the data of an event cannot be stored; null if it can. */
export function ownDataMistake(data: unknown): string | null {
  const bytes = Buffer.byteLength(JSON.stringify(data) ?? "");
  return bytes > MAX_BYTES ? `expected at most ${MAX_BYTES} bytes of JSON, found ${bytes}` : null;
}
