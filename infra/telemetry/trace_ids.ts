import { Buffer } from "node:buffer";
import { activeSpan } from "./tracing.ts";

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

const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The W3C trace id of a request: of its span, otherwise of a valid `traceparent`, otherwise a new one. */
export function traceIdOf(headers: Headers): string {
  return activeSpan()?.traceId ?? TRACEPARENT.exec(headers.get("traceparent") ?? "")?.[1] ?? randomHex(16);
}

/** The `traceresponse` header: the trace id that the service used. */
export function traceResponse(traceId: string): string {
  const span = activeSpan();
  return span?.traceId === traceId ? `00-${traceId}-${span.spanId}-01` : traceparent(traceId);
}
