// The thread that templates are filled in on, one at a time: other requests do not wait while one runs.
import {
  TemplateInvalid,
  TemplateLimitExceeded,
  type TemplatePart,
  TemplateVariablesMissing,
} from "./errors.ts";
import { htmlToText } from "./html_text/mod.ts";
import {
  type CompiledTemplate,
  compileTemplate,
  type RenderedTemplate,
  type TemplateSource,
} from "./template.ts";

/** What the thread is asked for. */
export type RenderTask =
  | {
    do: "render";
    source: TemplateSource;
    data: Record<string, unknown>;
    /** Names the source where it is asked for more than once. */
    key: string | null;
  }
  /** Only says whether the source can be understood. */
  | { do: "compile"; source: TemplateSource }
  | { do: "text"; html: string };

/** What it answers: the parts, of which the text is made from the HTML where the template has none. */
export type FromRenderWorker = { rendered: RenderedTemplate } | { failed: RenderFailure };

/** A failure on its way between threads. */
export type RenderFailure =
  | { kind: "invalid"; part: TemplatePart; line: number; column: number; reason: string }
  | { kind: "missing"; names: string[] }
  | { kind: "limit"; limit: "time" | "size"; allowed: number }
  | { kind: "other"; message: string; stack: string | undefined };

const REMEMBERED = 500;
/** Compiled templates by key; the least recently used one goes first. */
const compiled = new Map<string, CompiledTemplate>();

function carryOut(order: RenderTask): RenderedTemplate {
  const nothing = { subject: null, html: null, text: null };
  if (order.do === "text") return { ...nothing, text: htmlToText(order.html) };
  if (order.do === "compile") {
    compileTemplate(order.source);
    return nothing;
  }
  const { subject, html, text } = compiledOf(order.key, order.source).render(order.data);
  return { subject, html, text: text ?? (html === null ? null : htmlToText(html)) };
}

function compiledOf(key: string | null, source: TemplateSource): CompiledTemplate {
  if (key === null) return compileTemplate(source);
  const known = compiled.get(key) ?? compileTemplate(source);
  compiled.delete(key);
  compiled.set(key, known);
  if (compiled.size > REMEMBERED) compiled.delete(compiled.keys().next().value ?? "");
  return known;
}

function failureOf(error: unknown): RenderFailure {
  if (error instanceof TemplateInvalid) {
    const { part, line, column, reason } = error;
    return { kind: "invalid", part, line, column, reason };
  }
  if (error instanceof TemplateVariablesMissing) return { kind: "missing", names: error.names };
  if (error instanceof TemplateLimitExceeded) {
    return { kind: "limit", limit: error.limit, allowed: error.allowed };
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { kind: "other", message, stack };
}

const scope = globalThis as unknown as {
  onmessage: (event: MessageEvent<RenderTask>) => void;
  postMessage: (message: FromRenderWorker) => void;
};
scope.onmessage = ({ data: order }) => {
  try {
    scope.postMessage({ rendered: carryOut(order) });
  } catch (error) {
    scope.postMessage({ failed: failureOf(error) });
  }
};
