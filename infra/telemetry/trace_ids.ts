import { Buffer } from "node:buffer";

/** Random bytes are drawn in bulk: one call to the generator for each request would cost more than the rest. */
const pool = Buffer.alloc(6_144);
let drawn = pool.length;

/** So many random bytes, as hexadecimal digits. */
export function randomHex(bytes: number): string {
  if (drawn + bytes > pool.length) {
    crypto.getRandomValues(pool);
    drawn = 0;
  }
  drawn += bytes;
  return pool.toString("hex", drawn - bytes, drawn);
}

/** The W3C `traceparent` of a step of the trace that nobody records: it lets the receiver's own spans join the trace. */
export const traceparent = (traceId: string): string => `00-${traceId}-${randomHex(8)}-01`;
