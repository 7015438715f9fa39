import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { pageOf } from "../shared/lists.ts";
import type { PageRequest } from "../shared/paging.ts";
import { compareFields, type FieldDifferences } from "../shared/text_differences.ts";
import { readTemplate, type StoredTemplate, type TemplateContent, type TemplateTexts } from "./read.ts";

/** One version of a template. It never changes, and it is kept when the template is deleted. */
export interface TemplateVersion
  extends TemplateContent, Pick<StoredTemplate, "version" | "partSlugs" | "changedBy"> {
  id: string;
  templateId: string;
  changedAt: Date;
}

/** A page of the versions of a template with time and author, newest first. @throws NOTIFICATION_TEMPLATE_NOT_FOUND */
export async function listTemplateVersions(
  q: Sql,
  tenantId: string | null,
  templateId: string,
  page: PageRequest,
): Promise<Pick<TemplateVersion, "version" | "changedAt" | "changedBy">[]> {
  await readTemplate(q, tenantId, templateId);
  return await q`select version, changed_at, changed_by from notification_template_versions
    where template_id = ${templateId} order by version desc ${pageOf(q, page)}`;
}

/** One version of a template with its texts. @throws NOTIFICATION_TEMPLATE_NOT_FOUND */
export async function readTemplateVersion(
  q: Sql,
  tenantId: string | null,
  templateId: string,
  version: number,
): Promise<TemplateVersion> {
  await readTemplate(q, tenantId, templateId);
  return await requireTemplateVersion(q, templateId, version);
}

/** One version of a template, without a check of the tenant. @throws NOTIFICATION_TEMPLATE_NOT_FOUND */
export async function requireTemplateVersion(
  q: Sql,
  templateId: string,
  version: number,
): Promise<TemplateVersion> {
  const [row] = await q<TemplateVersion[]>`
    select * from notification_template_versions where template_id = ${templateId} and version = ${version}`;
  if (row) return row;
  throw problem("NOTIFICATION_TEMPLATE_NOT_FOUND", `The template ${templateId} has no version ${version}.`);
}

/** The template version with this id, as stored in a message. */
export async function readVersionById(q: Sql, id: string): Promise<TemplateVersion> {
  const [row] = await q<TemplateVersion[]>`select * from notification_template_versions where id = ${id}`;
  if (!row) throw new Error(`the template version ${id} is missing although versions are never deleted`);
  return row;
}

/** The template versions with these ids, as pinned in a message. */
export const readVersionsById = async (q: Sql, ids: string[]): Promise<TemplateVersion[]> =>
  ids.length === 0 ? [] : [
    ...await q<TemplateVersion[]>`
      select * from notification_template_versions where id = any(${ids}::uuid[])`,
  ];

/** The changes from one version of a template to another. @throws NOTIFICATION_TEMPLATE_NOT_FOUND */
export async function compareTemplateVersions(
  q: Sql,
  tenantId: string | null,
  id: string,
  { from, to }: { from: number; to: number },
): Promise<FieldDifferences[]> {
  const before = await readTemplateVersion(q, tenantId, id, from);
  const after = await readTemplateVersion(q, tenantId, id, to);
  return await compareFields(comparedTexts(before), comparedTexts(after));
}

const comparedTexts = (version: TemplateVersion): Record<string, string | null> => ({
  name: version.name,
  subjectTemplate: version.subjectTemplate,
  htmlBodyTemplate: version.htmlBodyTemplate,
  textBodyTemplate: version.textBodyTemplate,
  requiredVariables: version.requiredVariables,
  layoutSlug: version.layoutSlug,
  texts: textLines(version.texts),
});

/** A line for each text of the function `t`, by key and language. */
export const textLines = (texts: TemplateTexts | null): string =>
  Object.entries(texts ?? {})
    .flatMap(([language, byKey]) => Object.entries(byKey).map(([key, text]) => ({ key, language, text })))
    .toSorted((a, b) => a.key.localeCompare(b.key) || a.language.localeCompare(b.language))
    .map(({ key, language, text }) => `${key} (${language}): ${text}`)
    .join("\n");
