import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { recordAudit } from "../../audit/audit.ts";
import type { TenantCaller } from "../../rights/caller.ts";
import { definedMembers } from "../../shared/defined_members.ts";
import { newId } from "../../shared/ids.ts";
import { requireVersion } from "../../shared/version.ts";
import { canonicalLocale } from "../../templates/locales.ts";
import type { ReportPlatform } from "../platform.ts";
import { requireValidDocument } from "./render.ts";
import { type DocumentTemplate, readDocumentTemplate, readDocumentTemplateVersion } from "./template.ts";

export type NewDocumentTemplate = Pick<
  DocumentTemplate,
  "slug" | "name" | "locale" | "titleTemplate" | "bodyTemplate" | "requiredVariables" | "sampleData" | "texts"
>;
/** A change of a template. A member that is left out stays unchanged. */
export type DocumentTemplateChange = Partial<Omit<NewDocumentTemplate, "slug" | "locale">>;

/**
 * Creates a template in the caller's tenant.
 * @throws VALIDATION_ERROR, DOCUMENT_TEMPLATE_INVALID, DOCUMENT_TEMPLATE_ALREADY_EXISTS
 */
export async function createDocumentTemplate(
  p: ReportPlatform,
  caller: TenantCaller,
  given: NewDocumentTemplate,
): Promise<DocumentTemplate> {
  const template = { ...given, locale: canonicalLocale(given.locale) };
  const partSlugs = await requireValidDocument(p, caller.tenantId, template);
  return await transact(p.sql, async (tx) => {
    const [row] = await tx<DocumentTemplate[]>`
      insert into document_templates (id, tenant_id, slug, name, locale, title_template, body_template,
        required_variables, sample_data, texts, part_slugs, changed_by)
      values (${newId()}, ${caller.tenantId}, ${template.slug}, ${template.name}, ${template.locale},
        ${template.titleTemplate}, ${template.bodyTemplate}, ${template.requiredVariables},
        ${tx.json(template.sampleData as never)}, ${
      template.texts && tx.json(template.texts)
    }, ${partSlugs}::text[],
        ${caller.userId})
      returning *`;
    const created = row as DocumentTemplate;
    await auditChange(tx, caller, "create", created.id, null, created);
    return created;
  });
}

/**
 * Changes a template and increases its version.
 * @throws DOCUMENT_TEMPLATE_NOT_FOUND, PRECONDITION_FAILED, DOCUMENT_TEMPLATE_INVALID
 */
export async function updateDocumentTemplate(
  p: ReportPlatform,
  caller: TenantCaller,
  id: string,
  change: DocumentTemplateChange,
  ifMatch: string | null,
): Promise<DocumentTemplate> {
  const given = definedMembers(change);
  const stored = await readDocumentTemplate(p.sql, caller.tenantId, id);
  requireVersion(ifMatch, stored.version);
  // Checked before the row is locked, because compiling may be slow.
  const checked = await requireValidDocument(p, caller.tenantId, { ...stored, ...given });
  return await transact(p.sql, async (tx) => {
    const before = await readDocumentTemplate(tx, caller.tenantId, id, tx`for update`);
    requireVersion(ifMatch, before.version);
    const after: DocumentTemplate = { ...before, ...given };
    const isChecked = before.version === stored.version;
    const partSlugs = isChecked
      ? checked
      : await requireValidDocument({ ...p, sql: tx }, caller.tenantId, after);
    const [row] = await tx<DocumentTemplate[]>`
      update document_templates set name = ${after.name}, title_template = ${after.titleTemplate},
        body_template = ${after.bodyTemplate}, required_variables = ${after.requiredVariables},
        sample_data = ${tx.json(after.sampleData as never)}, texts = ${after.texts && tx.json(after.texts)},
        part_slugs = ${partSlugs}::text[], version = version + 1, updated_at = now(),
        changed_by = ${caller.userId}
      where id = ${id} returning *`;
    await auditChange(tx, caller, "update", id, before, after);
    return row as DocumentTemplate;
  });
}

/**
 * Creates a new version with the texts of an earlier one. The name is not changed.
 * @throws DOCUMENT_TEMPLATE_NOT_FOUND, PRECONDITION_FAILED, DOCUMENT_TEMPLATE_INVALID
 */
export async function restoreDocumentTemplateVersion(
  p: ReportPlatform,
  caller: TenantCaller,
  id: string,
  version: number,
  ifMatch: string | null,
): Promise<DocumentTemplate> {
  const former = await readDocumentTemplateVersion(p.sql, caller.tenantId, id, version);
  const { titleTemplate, bodyTemplate, requiredVariables, sampleData, texts } = former;
  const change = { titleTemplate, bodyTemplate, requiredVariables, sampleData, texts };
  return await updateDocumentTemplate(p, caller, id, change, ifMatch);
}

/**
 * Deletes a template. Its versions stay for the documents that were requested before.
 * @throws DOCUMENT_TEMPLATE_NOT_FOUND, PRECONDITION_FAILED
 */
export async function deleteDocumentTemplate(
  p: Pick<ReportPlatform, "sql">,
  caller: TenantCaller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(p.sql, async (tx) => {
    const before = await readDocumentTemplate(tx, caller.tenantId, id, tx`for update`);
    requireVersion(ifMatch, before.version);
    await tx`delete from document_templates where id = ${id}`;
    await auditChange(tx, caller, "delete", id, before, null);
  });
}

/** Writes the audit row of a change. It does not contain the texts. */
async function auditChange(
  tx: Tx,
  caller: TenantCaller,
  verb: string,
  id: string,
  before: DocumentTemplate | null,
  after: DocumentTemplate | null,
): Promise<void> {
  const summary = (t: DocumentTemplate | null) =>
    t ? { slug: t.slug, locale: t.locale, name: t.name, version: t.version } : undefined;
  const change = { before: summary(before), after: summary(after) };
  await recordAudit(tx, caller, `document-template.${verb}`, id, change);
}
