import { type EventTypes, isBuiltIn } from "./event_types.ts";

/** The form of event types: words with dots between them. */
const EVENT_TYPE = /^[a-z0-9]+(\.[a-z0-9-]+)+$/;
export const MAX_TYPE_LENGTH = 100;

/**
 * Why a type cannot be one of a caller's own events; null if it can.
 * @param declared the types of the service and its extensions: receivers rely on it that nobody else emits them
 */
export function ownTypeMistake(type: string, declared: Pick<EventTypes, "has">): string | null {
  if (type.length > MAX_TYPE_LENGTH || !EVENT_TYPE.test(type)) {
    return `expected words with dots between them, such as invoice.paid, of at most ${MAX_TYPE_LENGTH} characters`;
  }
  if (isBuiltIn(type)) return "this type is built in; only the service emits it";
  return declared.has(type) ? "an extension declares this type; only the service emits it" : null;
}
