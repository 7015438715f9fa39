// Spans by Deno's built-in OpenTelemetry (OTEL_DENO=true): it records requests in and out, this module what lies
// between them. Without it nothing is loaded and every function here is a single comparison.
import type { Attributes, Context, Span } from "@opentelemetry/api";

/** Where Deno puts its provider for the API package to find, when it was told to export at all. */
const PROVIDER = Symbol.for("opentelemetry.js.api.1");
const api = PROVIDER in globalThis ? await import("@opentelemetry/api") : null;
const tracer = api?.trace.getTracer("steward") ?? null;

/** Ids of the span the running work belongs to; null outside of one, and always when nothing is exported. */
export function activeSpan(): { traceId: string; spanId: string } | null {
  return api?.trace.getActiveSpan()?.spanContext() ?? null;
}

/** Names the request's own span by its route. Deno has noted the whole URL before, which nothing can take back. */
export function nameRequestSpan(method: string, route: string): void {
  const span = api?.trace.getActiveSpan();
  if (!span) return;
  span.updateName(`${method} ${route}`);
  span.setAttribute("http.route", route);
}

/** Runs `work` as a step of the span around it; without one, just runs it. */
export function inSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  if (!api || !tracer || !api.trace.getActiveSpan()) return work();
  return tracer.startActiveSpan(name, { attributes }, (span) => ended(span, work));
}

/**
 * Runs `work` as a span that continues the trace `traceId`, or begins a new one: what a job does belongs to the request
 * that enqueued it, however much later and in whichever process.
 */
export function inTrace<T>(
  traceId: string | null,
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
): Promise<T> {
  if (!api || !tracer) return work();
  const options = { kind: api.SpanKind.CONSUMER, attributes };
  return tracer.startActiveSpan(name, options, parentIn(traceId), (span) => ended(span, work));
}

/** Runs `work` outside of any trace: it serves many, whoever has set it off. */
export function untraced<T>(work: () => T): T {
  return api ? api.context.with(api.ROOT_CONTEXT, work) : work();
}

/** A ledger row keeps the trace, not the span that wrote it: the parent's id is made of the trace's own. */
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
