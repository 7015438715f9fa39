// Spans for Deno's built-in OpenTelemetry (OTEL_DENO=true). Deno records incoming and outgoing requests; this module
// records the work between them. Without OTEL_DENO its API is not loaded, and only the id of the trace is known.
import { AsyncLocalStorage } from "node:async_hooks";
import { Buffer } from "node:buffer";
import type { Attributes, Context, Span } from "@opentelemetry/api";

/** The global under which Deno registers its provider for the API package, if export is on. */
const PROVIDER = Symbol.for("opentelemetry.js.api.1");
const api = PROVIDER in globalThis ? await import("@opentelemetry/api") : null;
const tracer = api?.trace.getTracer("steward") ?? null;

/** Ids of the active span; null if there is none or export is off. */
function activeSpan(): { traceId: string; spanId: string } | null {
  return api?.trace.getActiveSpan()?.spanContext() ?? null;
}

/** The traces of requests and jobs while export is off. */
const traces = new AsyncLocalStorage<string>();

/** The trace of the request or job that runs; null outside of both. */
export const activeTrace = (): string | null => activeSpan()?.traceId ?? traces.getStore() ?? null;

/** Runs the work of a request, so that the jobs and messages that it enqueues belong to its trace. */
export const withTrace = <T>(traceId: string, work: () => T): T => traces.run(traceId, work);

/** Names the request's span by its route. Deno has already recorded the full URL, which cannot be removed. */
export function nameRequestSpan(method: string, route: string): void {
  const span = api?.trace.getActiveSpan();
  if (!span) return;
  span.updateName(`${method} ${route}`);
  span.setAttribute("http.route", route);
}

/** Runs `work` in a child span of the active span; without an active span, just runs it. */
export function inSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  if (!api || !tracer || !api.trace.getActiveSpan()) return work();
  return tracer.startActiveSpan(name, { attributes }, (span) => ended(span, work));
}

/**
 * Runs `work` in a span of the trace `traceId`, or of a new trace if it is null. So the work of a job belongs to the
 * trace of the request that enqueued it, also later and in another process.
 */
export function inTrace<T>(
  traceId: string | null,
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  if (!api || !tracer) return traceId === null ? work() : traces.run(traceId, work);
  const options = { kind: api.SpanKind.CONSUMER, attributes };
  return tracer.startActiveSpan(name, options, parentIn(traceId), (span) => ended(span, work));
}

/** Runs `work` outside of any trace, because it serves many requests. */
export function untraced<T>(work: () => T): T {
  return api ? api.context.with(api.ROOT_CONTEXT, work) : work();
}

/** A job row stores the trace id but no span id. So the parent's span id is derived from the trace id. */
function parentIn(traceId: string | null): Context {
  if (!api) throw new Error("there is no context without tracing");
  if (!traceId || /^0+$/.test(traceId)) return api.ROOT_CONTEXT;
  const parent = { traceId, spanId: traceId.slice(16), traceFlags: api.TraceFlags.SAMPLED, isRemote: true };
  return api.isSpanContextValid(parent)
    ? api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
    : api.ROOT_CONTEXT;
}

async function ended<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    span.setStatus({ code: 2, message: error instanceof Error ? error.name : "failed" }); // 2: error
    throw error;
  } finally {
    span.end();
  }
}

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
