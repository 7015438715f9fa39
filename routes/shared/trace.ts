import { randomHex, traceparent } from "../../infra/telemetry/trace_ids.ts";
import { activeSpan } from "../../infra/telemetry/tracing.ts";

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
