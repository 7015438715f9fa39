import { randomBytes } from "node:crypto";

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The W3C trace id of a request: the caller's when its `traceparent` is valid, else a new one. */
export function traceIdOf(headers: Headers): string {
  return TRACEPARENT.exec(headers.get("traceparent") ?? "")?.[1] ?? randomBytes(16).toString("hex");
}

/** The `traceresponse` header that tells the caller under which trace the service worked. */
export const traceResponse = (traceId: string): string =>
  `00-${traceId}-${randomBytes(8).toString("hex")}-01`;
