import type { Queryable } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import { readTemplate, type StoredTemplate } from "./read.ts";

/** A template as it was at one time; it never changes and outlives the template. */
export interface TemplateVersion extends
  Pick<
    StoredTemplate,
    | "name"
    | "locale"
    | "version"
    | "subjectTemplate"
    | "htmlBodyTemplate"
    | "textBodyTemplate"
    | "requiredVariables"
    | "changedBy"
  > {
  id: string;
  templateId: string;
  changedAt: Date;
}

/** When each version of a template was made and by whom, newest first. @throws NOTIFICATION_TEMPLATE_NOT_FOUND */
export async function listTemplateVersions(
  q: Queryable,
  tenantId: string | null,
  templateId: string,
): Promise<Pick<TemplateVersion, "version" | "changedAt" | "changedBy">[]> {
  await readTemplate(q, tenantId, templateId);
  return await q`select version, changed_at, changed_by from notification_template_versions
    where template_id = ${templateId} order by version desc`;
}

/** One version of a template with its texts. @throws NOTIFICATION_TEMPLATE_NOT_FOUND */
export async function readTemplateVersion(
  q: Queryable,
  tenantId: string | null,
  templateId: string,
  version: number,
): Promise<TemplateVersion> {
  await readTemplate(q, tenantId, templateId);
  return await requireTemplateVersion(q, templateId, version);
}

/** The version of a template that the caller may read. @throws NOTIFICATION_TEMPLATE_NOT_FOUND */
export async function requireTemplateVersion(
  q: Queryable,
  templateId: string,
  version: number,
): Promise<TemplateVersion> {
  const [row] = await q<TemplateVersion[]>`
    select * from notification_template_versions where template_id = ${templateId} and version = ${version}`;
  if (row) return row;
  throw problem("NOTIFICATION_TEMPLATE_NOT_FOUND", `The template ${templateId} has no version ${version}.`);
}

/** The version a message was accepted with. */
export async function readVersionById(q: Queryable, id: string): Promise<TemplateVersion> {
  const [row] = await q<TemplateVersion[]>`select * from notification_template_versions where id = ${id}`;
  if (!row) throw new Error(`the template version ${id} is not there; versions are never deleted`);
  return row;
}
