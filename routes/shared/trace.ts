import { Buffer } from "node:buffer";

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Random bytes are drawn in bulk: one call to the generator for each request would cost more than the rest. */
const pool = Buffer.alloc(6_144);
let drawn = pool.length;

function randomHex(bytes: number): string {
  if (drawn + bytes > pool.length) {
    crypto.getRandomValues(pool);
    drawn = 0;
  }
  drawn += bytes;
  return pool.toString("hex", drawn - bytes, drawn);
}

/** The W3C trace id of a request: the caller's when its `traceparent` is valid, else a new one. */
export function traceIdOf(headers: Headers): string {
  return TRACEPARENT.exec(headers.get("traceparent") ?? "")?.[1] ?? randomHex(16);
}

/** The `traceresponse` header that tells the caller under which trace the service worked. */
export const traceResponse = (traceId: string): string => `00-${traceId}-${randomHex(8)}-01`;
