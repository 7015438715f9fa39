import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { pageOf } from "../shared/lists.ts";
import type { PageRequest } from "../shared/paging.ts";
import { readTemplate, type StoredTemplate, type TemplateContent } from "./read.ts";

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
