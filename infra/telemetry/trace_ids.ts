import { Buffer } from "node:buffer";

/** A buffer of random bytes. Calling the generator once per request would cost too much. */
const pool = Buffer.alloc(6_144);
let drawn = pool.length;

/** Returns `bytes` random bytes as hexadecimal digits. */
export function randomHex(bytes: number): string {
  if (drawn + bytes > pool.length) {
    crypto.getRandomValues(pool);
    drawn = 0;
  }
  drawn += bytes;
  return pool.toString("hex", drawn - bytes, drawn);
}

/** A W3C `traceparent` with an unrecorded parent span, so that the receiver's spans join the trace. */
export const traceparent = (traceId: string): string => `00-${traceId}-${randomHex(8)}-01`;
