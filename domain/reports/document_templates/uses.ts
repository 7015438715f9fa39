import { readTemplate } from "../../templates/read.ts";
import { MOST_USES, partialsNaming, refusalOf, usesVersion } from "../../templates/uses.ts";
import { requireTemplateVersion } from "../../templates/versions.ts";
import type { ReportPlatform } from "../platform.ts";
import { requireValidDocument } from "./render.ts";
import { inMessageTerms } from "./source.ts";
import type { DocumentTemplate } from "./template.ts";

/** A document template that uses a partial. */
export type DocumentUse = Pick<DocumentTemplate, "id" | "slug" | "name" | "locale"> & {
  /** Why it is invalid with the partial; null: it is valid. */
  error: string | null;
};

/**
 * The tenant's document templates that use a partial, also through other partials, by slug and locale. Each is checked as if
 * it were saved. Nothing uses a message template or a layout.
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
    order by slug, lower(locale) limit ${MOST_USES}`;
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
