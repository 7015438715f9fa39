import { z } from "zod";
import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import type { PagedResult, PageRequest } from "../../shared/paging.ts";
import { matches, pageOf, readPage } from "../../shared/lists.ts";
import { compareFields, type FieldDifferences } from "../../shared/text_differences.ts";
import { textLines } from "../../templates/versions.ts";
import { templateTexts } from "../../templates/read.ts";
import { anyObject, time } from "../../shared/shapes.ts";

const summary = {
  id: z.guid(),
  slug: z.string(),
  name: z.string(),
  // A language tag: language of the document, and format of its numbers and dates.
  locale: z.string(),
  version: z.int(),
  createdAt: time,
  updatedAt: time,
};
const content = {
  titleTemplate: z.string(),
  bodyTemplate: z.string(),
  // Comma-separated names.
  requiredVariables: z.string(),
  // For previews.
  sampleData: anyObject,
  texts: templateTexts.nullable(),
};
export const DocumentTemplateSummary = z.object(summary).meta({ id: "DocumentTemplateSummaryDto" });
export const DocumentTemplateDto = z.object({ ...summary, ...content }).meta({ id: "DocumentTemplateDto" });
export const DocumentVersionSummary = z.object({
  version: z.int(),
  changedAt: time,
  changedBy: z.guid().nullable(),
}).meta({ id: "DocumentTemplateVersionItem" });
export const DocumentVersionDto = z.object({
  templateId: z.guid(),
  version: z.int(),
  name: z.string(),
  locale: z.string(),
  ...content,
  changedAt: time,
  changedBy: z.guid().nullable(),
}).meta({ id: "DocumentTemplateVersionDto" });

/** A template that callers copy and change. Its data show what it prints. */
export const DocumentSample = z.object({
  slug: z.string(),
  name: z.string(),
  locale: z.string(),
  ...content,
}).meta({ id: "DocumentTemplateSampleDto" });

/** A stored template of a tenant. */
export interface DocumentTemplate extends z.output<typeof DocumentTemplateDto> {
  tenantId: string;
  /** Slugs of the partials it names itself. */
  partSlugs: string[];
  changedBy: string | null;
}

/** One version of a template. It never changes, and it is kept when the template is deleted. */
interface DocumentTemplateVersion extends z.output<typeof DocumentVersionDto> {
  id: string;
  partSlugs: string[];
}

/** A template of the tenant. @param lock such as `for update` @throws DOCUMENT_TEMPLATE_NOT_FOUND */
export async function readDocumentTemplate(
  q: Sql,
  tenantId: string,
  id: string,
  lock = q``,
): Promise<DocumentTemplate> {
  const [row] = await q<DocumentTemplate[]>`
    select * from document_templates where id = ${id} and tenant_id = ${tenantId} ${lock}`;
  if (!row) {
    throw problem("DOCUMENT_TEMPLATE_NOT_FOUND", `There is no document template ${id} in this tenant.`);
  }
  return row;
}

/** A page of the tenant's templates by slug and locale. @param search part of the slug or name */
export async function listDocumentTemplates(
  q: Sql,
  tenantId: string,
  search: string | undefined,
  page: PageRequest,
): Promise<PagedResult<z.output<typeof DocumentTemplateSummary>>> {
  const columns = q`id, slug, name, locale, version, created_at, updated_at`;
  const from = q`document_templates
    where tenant_id = ${tenantId} and ${matches(q, "fold(slug || ' ' || name)", search)}`;
  return await readPage(q, { columns, from, order: q`order by slug, lower(locale), id` }, page);
}

/** The versions of a template with time and author, newest first. @throws DOCUMENT_TEMPLATE_NOT_FOUND */
export async function listDocumentTemplateVersions(
  q: Sql,
  tenantId: string,
  id: string,
  page: PageRequest,
): Promise<z.output<typeof DocumentVersionSummary>[]> {
  await readDocumentTemplate(q, tenantId, id);
  return await q`select version, changed_at, changed_by from document_template_versions
    where template_id = ${id} order by version desc ${pageOf(q, page)}`;
}

/** One version of a template. @throws DOCUMENT_TEMPLATE_NOT_FOUND */
export async function readDocumentTemplateVersion(
  q: Sql,
  tenantId: string,
  id: string,
  version: number,
): Promise<DocumentTemplateVersion> {
  await readDocumentTemplate(q, tenantId, id);
  const [row] = await q<DocumentTemplateVersion[]>`
    select * from document_template_versions where template_id = ${id} and version = ${version}`;
  if (row) return row;
  throw problem("DOCUMENT_TEMPLATE_NOT_FOUND", `The document template ${id} has no version ${version}.`);
}

/** The version that an execution names. */
export async function readDocumentVersionById(q: Sql, id: string): Promise<DocumentTemplateVersion> {
  const [row] = await q<DocumentTemplateVersion[]>`
    select * from document_template_versions where id = ${id}`;
  if (!row) {
    throw new Error(`the version ${id} of a document template is missing; versions are never deleted`);
  }
  return row;
}

/** The changes from one version of a template to another. @throws DOCUMENT_TEMPLATE_NOT_FOUND */
export async function compareDocumentTemplateVersions(
  q: Sql,
  tenantId: string,
  id: string,
  { from, to }: { from: number; to: number },
): Promise<FieldDifferences[]> {
  const before = await readDocumentTemplateVersion(q, tenantId, id, from);
  const after = await readDocumentTemplateVersion(q, tenantId, id, to);
  return await compareFields(comparedTexts(before), comparedTexts(after));
}

const comparedTexts = (version: DocumentTemplateVersion): Record<string, string> => ({
  name: version.name,
  titleTemplate: version.titleTemplate,
  bodyTemplate: version.bodyTemplate,
  requiredVariables: version.requiredVariables,
  texts: textLines(version.texts),
  sampleData: JSON.stringify(version.sampleData, null, 2),
});
