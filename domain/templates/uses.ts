import type { Sql } from "../../infra/postgres/postgres.ts";
import { Problem, type ProblemCode } from "../problems/problem.ts";
import type { TemplatePlatform } from "./platform.ts";
import { type Composed, pinParts } from "./parts.ts";
import { readTemplate, type StoredTemplate } from "./read.ts";
import { renderStored, sampleDataOf } from "./render.ts";
import { requireTemplateVersion } from "./versions.ts";

/** Maximum number of templates that one request renders. Each takes at most 100 ms, so that all take at most 5 s. */
export const MAX_USES = 50;

/** A template that uses a layout or partial. */
export type TemplateUse = Pick<StoredTemplate, "id" | "slug" | "name" | "locale"> & {
  isShipped: boolean;
  /** The error of rendering it with its sample data; null if there is none. */
  error: string | null;
};

/**
 * The templates that use a layout or partial, also through other parts, by slug and locale. Each is rendered with its
 * sample data. The list is empty for a template of the kind Template, because templates cannot use it.
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, RATE_LIMITED
 */
export async function listTemplateUses(
  p: Pick<TemplatePlatform, "sql" | "renderThreads" | "config" | "baseUrl">,
  tenantId: string | null,
  id: string,
): Promise<TemplateUse[]> {
  const part = await readTemplate(p.sql, tenantId, id);
  if (part.kind === "Template") return [];
  const { id: versionId } = await requireTemplateVersion(p.sql, id, part.version);
  const uses: TemplateUse[] = [];
  for (const template of await templatesNaming(p.sql, tenantId, part)) {
    const isUsed = await usesVersion(p.sql, tenantId, template, { slug: part.slug, versionId });
    if (!isUsed) continue;
    const error = await refusalOf(async () => {
      const data = await sampleDataOf(p, tenantId, template);
      await renderStored(p, tenantId, template, { data, locale: null });
    });
    const { id, slug, name, locale } = template;
    uses.push({ id, slug, name, locale, isShipped: template.tenantId === null, error });
  }
  return uses;
}

/** The templates that name a part, or that name another part which names it. */
async function templatesNaming(
  q: Sql,
  tenantId: string | null,
  { slug, kind }: StoredTemplate,
): Promise<StoredTemplate[]> {
  const partials = kind === "Partial" ? await partialsNaming(q, tenantId, slug) : [];
  const layout = kind === "Layout" ? slug : null;
  return await q<StoredTemplate[]>`
    with visible as (
      select * from notification_templates where tenant_id = ${tenantId} or tenant_id is null
    )
    select * from visible where kind = 'Template' and (
      part_slugs && ${partials}::text[]
      or layout_slug = ${layout}
      or layout_slug in (select slug from visible where kind = 'Layout' and part_slugs && ${partials}::text[]))
    order by slug, lower(locale), tenant_id nulls last limit ${MAX_USES}`;
}

/** The slug of a partial, and those of the partials that name it, also through others. */
export async function partialsNaming(q: Sql, tenantId: string | null, slug: string): Promise<string[]> {
  const rows = await q<{ slug: string }[]>`
    with recursive parts as (
      select ${slug}::text as slug
      union
      select t.slug from parts join notification_templates t on parts.slug = any(t.part_slugs)
      where t.kind = 'Partial' and (t.tenant_id = ${tenantId} or t.tenant_id is null)
    )
    select slug from parts`;
  return rows.map((row) => row.slug);
}

/** True if a template finds this part by its slug. A part in another language or the tenant's own part may come first. */
export async function usesVersion(
  q: Sql,
  tenantId: string | null,
  template: Composed,
  part: { slug: string; versionId: string },
): Promise<boolean> {
  const pins = await pinParts(q, tenantId, template, null, { skipsMissing: true }).catch((refusal) => {
    if (isRefusal(refusal)) return null;
    throw refusal;
  });
  return pins?.parts[part.slug] === part.versionId;
}

const REFUSALS: ProblemCode[] = [
  "NOTIFICATION_TEMPLATE_INVALID",
  "NOTIFICATION_TEMPLATE_NOT_FOUND",
  "NOTIFICATION_TEMPLATE_VARIABLES_MISSING",
];

const isRefusal = (error: unknown, codes: readonly ProblemCode[] = REFUSALS): error is Problem =>
  error instanceof Problem && codes.includes(error.code);

/** The message of a problem with one of the codes that `work` throws; null if it succeeds. Other errors are thrown. */
export async function refusalOf(
  work: () => Promise<unknown>,
  codes: readonly ProblemCode[] = REFUSALS,
): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (isRefusal(error, codes)) return error.message;
    throw error;
  }
}
