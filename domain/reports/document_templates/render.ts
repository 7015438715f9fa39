import { z } from "zod";
import { checkTemplateMarkup } from "../../documents/markup/template_markup.ts";
import type { BlockInput } from "../../documents/writers/pdf/blocks/make_blocks.ts";
import { readLooks } from "../../looks/looks.ts";
import { type Problem, problem } from "../../problems/problem.ts";
import { MAX_WAITING, parseRequiredVariables, type TemplateSource } from "../../templates/language/mod.ts";
import { missingVariables } from "../../templates/language/required_variables.ts";
import type { PartReader } from "../../templates/parts.ts";
import { readTemplate } from "../../templates/read.ts";
import { renderSource } from "../../templates/render.ts";
import { MAX_USES, partialsNaming, refusalOf, usesVersion } from "../../templates/uses.ts";
import { requireTemplateVersion } from "../../templates/versions.ts";
import type { ReportPlatform } from "../platform.ts";
import { takeSlot } from "../request_slot.ts";
import { DocumentThreadLost } from "../threads/document_thread.ts";
import { type GivenDocument, givenSource, inMessageTerms, variablesMissing, withProblems } from "./source.ts";
import type { DocumentTemplate } from "./template.ts";

/** Time limit of a preview. */
const PREVIEW_MS = 30_000;

/**
 * Checks title, body and markup, also those of its partials.
 * @returns the slugs of the partials it names
 * @throws DOCUMENT_TEMPLATE_INVALID with line and column, RATE_LIMITED
 */
export async function requireValidDocument(
  p: PartReader,
  tenantId: string,
  given: GivenDocument,
): Promise<string[]> {
  const { source, inspection } = await givenSource(p, tenantId, given, null);
  await withProblems(async () => {
    await p.renderThreads.run({ do: "compile", source }, { tenantId, maxWaiting: MAX_WAITING });
    checkTemplateMarkup(given.bodyTemplate, bodiesOf(source.partials));
  });
  return inspection.partials;
}

/** The bodies of partials by slug. One without a body is used in the title only. */
const bodiesOf = (partials: TemplateSource["partials"]): Record<string, string> =>
  Object.fromEntries(
    Object.entries(partials ?? {}).flatMap(([slug, { html }]) => html === null ? [] : [[slug, html]]),
  );

/**
 * Refuses data without a required variable.
 * @param field the data's name in the request
 * @throws DOCUMENT_TEMPLATE_VARIABLES_MISSING
 */
export function requireVariables(
  { requiredVariables }: Pick<DocumentTemplate, "requiredVariables">,
  data: Record<string, unknown>,
  field: string,
): void {
  const missing = missingVariables(parseRequiredVariables(requiredVariables), data);
  if (missing.length > 0) throw variablesMissing(missing, field);
}

/**
 * Renders a template to what the thread that draws documents takes.
 * @param o.key the cache key of the source; null: it is not cached
 * @throws DOCUMENT_TEMPLATE_INVALID, DOCUMENT_TEMPLATE_VARIABLES_MISSING, RATE_LIMITED
 */
export async function renderDocument(
  p: ReportPlatform,
  source: TemplateSource,
  o: {
    tenantId: string;
    key: string | null;
    data: Record<string, unknown>;
    requestedBy: string | null;
    maxWaiting?: number;
  },
): Promise<BlockInput> {
  return await withProblems(async () => {
    const { subject, html } = await renderSource(p, o.tenantId, source, o);
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
 * Draws a template with the current versions of its partials while the caller waits.
 * @param o.language null: the tenant's default
 * @throws as `renderDocument`; VALIDATION_ERROR, REPORT_BUSY_UNAVAILABLE, REPORT_TOO_LARGE_FOR_SYNC after `limitMs`
 */
export async function previewDocument(
  p: ReportPlatform,
  given: GivenDocument,
  o: { tenantId: string; language: string | null; data: Record<string, unknown> },
  limitMs = PREVIEW_MS,
): Promise<Uint8Array<ArrayBuffer>> {
  const { tenantId, data } = o;
  const { source } = await givenSource(p, tenantId, given, o.language);
  const rendering = { tenantId, key: null, data, requestedBy: null, maxWaiting: MAX_WAITING };
  const input = await renderDocument(p, source, rendering);
  const release = await takeSlot(p, tenantId);
  try {
    const signal = AbortSignal.timeout(limitMs);
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    await withProblems(async () => {
      for await (const chunk of p.reports.threads.make(input, { signal, stopping: p.stopping })) {
        chunks.push(chunk.slice());
      }
    }).catch((error) => {
      if (signal.aborted) throw previewTooLarge(`was not ready within ${limitMs / 1000} s`);
      throw error instanceof DocumentThreadLost ? previewTooLarge("used up the memory of its thread") : error;
    });
    return new Uint8Array(await new Blob(chunks).arrayBuffer());
  } finally {
    release();
  }
}

const previewTooLarge = (why: string): Problem =>
  problem(
    "REPORT_TOO_LARGE_FOR_SYNC",
    `The preview ${why}; use less data, or generate the document in the background.`,
  );

/** A document template that uses a partial. */
export const DocumentUse = z.object({
  id: z.guid(),
  slug: z.string(),
  name: z.string(),
  locale: z.string(),
  error: z.string().nullable().describe("Why it is invalid with the partial; null: it is valid"),
}).meta({ id: "DocumentUseDto" });
type DocumentUse = z.output<typeof DocumentUse>;

/**
 * The tenant's document templates that use a partial, also through other partials, by slug and locale. Each is checked as if
 * it were saved. The list is empty for a message template or a layout, because document templates cannot use these.
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, RATE_LIMITED
 */
export async function listDocumentUses(
  p: ReportPlatform,
  tenantId: string,
  partialId: string,
): Promise<DocumentUse[]> {
  const partial = await readTemplate(p.sql, tenantId, partialId);
  if (partial.kind !== "Partial") return [];
  const { id: versionId } = await requireTemplateVersion(p.sql, partial.id, partial.version);
  const slugs = await partialsNaming(p.sql, tenantId, partial.slug);
  const templates = await p.sql<DocumentTemplate[]>`
    select * from document_templates where tenant_id = ${tenantId} and part_slugs && ${slugs}::text[]
    order by slug, lower(locale) limit ${MAX_USES}`;
  const uses: DocumentUse[] = [];
  for (const template of templates) {
    const part = { slug: partial.slug, versionId };
    if (!await usesVersion(p.sql, tenantId, inMessageTerms(template), part)) continue;
    const { id, slug, name, locale } = template;
    const check = () => requireValidDocument(p, tenantId, template);
    uses.push({ id, slug, name, locale, error: await refusalOf(check, ["DOCUMENT_TEMPLATE_INVALID"]) });
  }
  return uses;
}
