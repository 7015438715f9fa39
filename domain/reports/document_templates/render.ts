import { readLooks } from "../../looks/looks.ts";
import {
  parseRequiredVariables,
  RenderQueueFull,
  TemplateInvalid,
  TemplateLimitExceeded,
  TemplateVariablesMissing,
} from "../../notifications/rendering/mod.ts";
import { missingVariables } from "../../notifications/rendering/required_variables.ts";
import { problem } from "../../problems/problem.ts";
import type { ReportPlatform } from "../platform.ts";
import { takeSlot } from "../request_slot.ts";
import { isTemplateFault } from "../rows.ts";
import type { BlockInput } from "./make_blocks.ts";
import { checkTemplateMarkup, MarkupInvalid } from "./markup.ts";
import type { DocumentTemplate } from "./template.ts";

/** Maximum waiting renders of one tenant for requests. */
const MAX_WAITING = 50;
/** How long a preview may take. */
const PREVIEW_MS = 30_000;

export type DocumentSource = Pick<
  DocumentTemplate,
  "locale" | "titleTemplate" | "bodyTemplate" | "requiredVariables"
>;

const sourceOf = ({ locale, titleTemplate, bodyTemplate, requiredVariables }: DocumentSource) => ({
  subject: titleTemplate,
  html: bodyTemplate,
  text: null,
  locale,
  requiredVariables: parseRequiredVariables(requiredVariables),
});

/** Checks title, body and markup. @throws DOCUMENT_TEMPLATE_INVALID with line and column, RATE_LIMITED */
export async function requireValidDocument(
  p: Pick<ReportPlatform, "renderThreads">,
  tenantId: string,
  source: DocumentSource,
): Promise<void> {
  await withProblems(async () => {
    const task = { do: "compile", source: sourceOf(source) } as const;
    await p.renderThreads.run(task, { tenantId, maxWaiting: MAX_WAITING });
    checkTemplateMarkup(source.bodyTemplate);
  });
}

/** Refuses data without a required variable. @param field the data's name in the request @throws DOCUMENT_TEMPLATE_VARIABLES_MISSING */
export function requireVariables(
  { requiredVariables }: Pick<DocumentSource, "requiredVariables">,
  data: Record<string, unknown>,
  field: string,
): void {
  const missing = missingVariables(parseRequiredVariables(requiredVariables), data);
  if (missing.length > 0) throw variablesMissing(missing, field);
}

/**
 * Renders a template to what the thread that draws documents takes.
 * @param o.key the id of its version; null: it is not stored
 * @throws DOCUMENT_TEMPLATE_INVALID, DOCUMENT_TEMPLATE_VARIABLES_MISSING, RATE_LIMITED
 */
export async function renderDocument(
  p: ReportPlatform,
  source: DocumentSource,
  o: {
    tenantId: string;
    key: string | null;
    data: Record<string, unknown>;
    requestedBy: string | null;
    maxWaiting?: number;
  },
): Promise<BlockInput> {
  return await withProblems(async () => {
    const task = { do: "render", key: o.key, source: sourceOf(source), data: o.data } as const;
    const { subject, html } = await p.renderThreads.run(task, o);
    return {
      markup: html ?? "",
      title: subject?.trim() ?? "",
      language: source.locale,
      requestedBy: o.requestedBy,
      generatedAt: p.clock.now(),
      looks: await readLooks(p, o.tenantId),
    };
  });
}

/**
 * Draws a template while the caller waits.
 * @throws as `renderDocument`; REPORT_BUSY_UNAVAILABLE
 */
export async function previewDocument(
  p: ReportPlatform,
  source: DocumentSource,
  o: { tenantId: string; key: string | null; data: Record<string, unknown> },
): Promise<Uint8Array<ArrayBuffer>> {
  const input = await renderDocument(p, source, { ...o, requestedBy: null, maxWaiting: MAX_WAITING });
  const release = await takeSlot(p);
  try {
    const signal = AbortSignal.timeout(PREVIEW_MS);
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    await withProblems(async () => {
      for await (const chunk of p.reports.threads.make(input, { signal, stopping: p.stopping })) {
        chunks.push(chunk.slice());
      }
    });
    return new Uint8Array(await new Blob(chunks).arrayBuffer());
  } finally {
    release();
  }
}

/** Runs `work` and converts its errors to problems of the catalogue. */
async function withProblems<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw problemOf(error);
  }
}

function problemOf(error: unknown): unknown {
  if (error instanceof TemplateVariablesMissing) return variablesMissing(error.names, "data");
  if (error instanceof TemplateInvalid) {
    const { part, line, column, reason } = error;
    const field = part === "subject" ? "titleTemplate" : part === "locale" ? "locale" : "bodyTemplate";
    const position = `line ${line}, column ${column}: ${reason}`;
    return problem("DOCUMENT_TEMPLATE_INVALID", `${field}, ${position}`, { errors: { [field]: [position] } });
  }
  if (error instanceof MarkupInvalid) {
    const errors = { bodyTemplate: [error.message] };
    return problem("DOCUMENT_TEMPLATE_INVALID", `bodyTemplate, ${error.message}`, { errors });
  }
  if (error instanceof TemplateLimitExceeded) return problem("DOCUMENT_TEMPLATE_INVALID", error.message);
  if (error instanceof RenderQueueFull) {
    const headers = { "retry-after": "2" };
    return problem("RATE_LIMITED", `Too many requests: ${error.message} for this tenant.`, { headers });
  }
  if (isTemplateFault(error)) {
    const errors = { bodyTemplate: [error.message] };
    return problem("DOCUMENT_TEMPLATE_INVALID", error.message, { errors });
  }
  return error;
}

const variablesMissing = (names: string[], field: string) =>
  problem(
    "DOCUMENT_TEMPLATE_VARIABLES_MISSING",
    `${field} lacks variables that the template requires: ${names.join(", ")}.`,
    {
      errors: Object.fromEntries(
        names.map((name) => [`${field}.${name}`, ["the template requires a value"]]),
      ),
    },
  );
