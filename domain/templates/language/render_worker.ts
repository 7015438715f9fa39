// Entry point of a render thread. It renders one template at a time, off the main thread.
import { TemplateInvalid, type TemplatePart, TemplateVariablesMissing } from "./errors.ts";
import { htmlToText } from "./html_text.ts";
import { type Inspection, inspectTemplate } from "./parse.ts";
import { sampleData } from "./sample_data.ts";
import {
  type CompiledTemplate,
  compileTemplate,
  type RenderedTemplate,
  type TemplateSource,
} from "./template.ts";
import { type TemplateLimit, TemplateLimitExceeded } from "./values/budget.ts";

/** A task for the thread. */
export type RenderTask =
  | {
    do: "render";
    source: TemplateSource;
    data: Record<string, unknown>;
    /** The value of `@looks`; absent if the template does not use it. */
    looks?: Record<string, unknown> | null;
    /** Cache key of the compiled source; null: it is not cached. */
    key: string | null;
  }
  /** Only checks that the source compiles. */
  | { do: "compile"; source: TemplateSource }
  /** Finds the partials that the source names. */
  | { do: "inspect"; source: Pick<TemplateSource, "subject" | "html" | "text"> }
  /** Makes sample data with all variables of the source. */
  | { do: "sample"; source: TemplateSource }
  /** Converts HTML to plain text. */
  | { do: "text"; html: string };

/** The result of a task. If a rendered template has no text part, `text` is made from the HTML. */
export type RenderResult<T extends RenderTask> = T extends { do: "inspect" } ? Inspection
  : T extends { do: "sample" } ? Record<string, unknown>
  : RenderedTemplate;

/** The answer of the thread. */
export type FromRenderWorker = { done: RenderResult<RenderTask> } | { failed: RenderFailure };

/** An error as it is passed between threads. */
export type RenderFailure =
  | { kind: "invalid"; part: TemplatePart; line: number; column: number; reason: string }
  | { kind: "missing"; names: string[] }
  | { kind: "limit"; limit: TemplateLimit; allowed: number }
  | { kind: "other"; message: string; stack: string | undefined };

const MAX_CACHED = 500;
/** LRU cache of compiled templates by key. */
const cache = new Map<string, CompiledTemplate>();

function execute(task: RenderTask): RenderResult<RenderTask> {
  const nothing = { subject: null, html: null, text: null };
  if (task.do === "text") return { ...nothing, text: htmlToText(task.html) };
  if (task.do === "compile") {
    compileTemplate(task.source);
    return nothing;
  }
  if (task.do === "inspect") return inspectTemplate(task.source);
  if (task.do === "sample") return sampleData(task.source);
  const { key, source, data, looks } = task;
  const { subject, html, text } = compileCached(key, source).render(data, looks ?? {});
  return { subject, html, text: text ?? (html === null ? null : htmlToText(html)) };
}

function compileCached(key: string | null, source: TemplateSource): CompiledTemplate {
  if (key === null) return compileTemplate(source);
  const compiled = cache.get(key) ?? compileTemplate(source);
  cache.delete(key);
  cache.set(key, compiled);
  if (cache.size > MAX_CACHED) cache.delete(cache.keys().next().value ?? "");
  return compiled;
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
scope.onmessage = ({ data: task }) => {
  try {
    scope.postMessage({ done: execute(task) });
  } catch (error) {
    scope.postMessage({ failed: failureOf(error) });
  }
};
