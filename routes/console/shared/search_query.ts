/** A search text is at most this long; more is ignored. */
const QUERY_LENGTH = 200;

const UUID = /(?<![0-9a-f-])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-f-])/i;
const HEX_32 = /^[0-9a-f]{32}$/i;
/** A W3C traceparent; its second part is the trace id. */
const TRACEPARENT = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/i;

/** The text that is searched for: trimmed, without control characters, and not too long. */
export const cleaned = (text: string | null): string =>
  (text ?? "").toWellFormed().replaceAll(/\p{Cc}/gu, " ").trim().slice(0, QUERY_LENGTH);

/** The id in a text: alone, in an address, or without its dashes; null if there is none. */
export function idIn(text: string): string | null {
  const [found] = UUID.exec(text) ?? [];
  if (found) return found.toLowerCase();
  const hex = text.toLowerCase();
  return HEX_32.test(hex) ? hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") : null;
}

/** The trace id in a text; null if there is none. */
export function traceIdIn(text: string): string | null {
  const [, found] = TRACEPARENT.exec(text) ?? [];
  const id = (found ?? text).toLowerCase();
  return HEX_32.test(id) ? id : null;
}

/** True if a text may be an address to which messages are sent, or its beginning. */
export const isAddress = (text: string): boolean => /^[^\s@]+@[^\s@]*$/.test(text) || /^\+\d{3,}$/.test(text);
