import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { ProblemCode } from "../../problems/catalogue.ts";
import { Problem } from "../../problems/problem.ts";
import type { NotificationPlatform } from "../platform.ts";
import { pinParts } from "./parts.ts";
import { readTemplate, type StoredTemplate } from "./read.ts";
import { renderStored, sampleDataOf } from "./render.ts";
import { requireTemplateVersion } from "./versions.ts";

/** Rendering takes at most 100 ms, so that a request renders for at most some seconds. */
const MOST_USES = 50;

/** A template that uses a layout or partial. */
export type TemplateUse = Pick<StoredTemplate, "id" | "slug" | "name" | "locale"> & {
  isShipped: boolean;
  /** Why it does not render with its sample data; null: it renders. */
  error: string | null;
};

/**
 * The templates that use a layout or partial, also through other parts, by slug and locale. Each is rendered with its
 * sample data. Nothing uses a template of the kind Template.
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, RATE_LIMITED
 */
export async function listTemplateUses(
  p: Pick<NotificationPlatform, "sql" | "renderThreads" | "config" | "baseUrl">,
  tenantId: string | null,
  id: string,
): Promise<TemplateUse[]> {
  const part = await readTemplate(p.sql, tenantId, id);
  if (part.kind === "Template") return [];
  const { id: versionId } = await requireTemplateVersion(p.sql, id, part.version);
  const uses: TemplateUse[] = [];
  for (const template of await naming(p.sql, tenantId, part)) {
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

/** Templates that name the slug of a part, or that of a part which names it. */
const naming = async (q: Sql, tenantId: string | null, { slug, kind }: StoredTemplate) =>
  await q<StoredTemplate[]>`
    with recursive visible as (
      select * from notification_templates where tenant_id = ${tenantId} or tenant_id is null
    ), parts as (
      select ${slug}::text as slug, ${kind}::text as kind
      union
      select v.slug, v.kind from parts join visible v on parts.kind = 'Partial' and parts.slug = any(v.part_slugs)
      where v.kind <> 'Template'
    )
    select * from visible v where kind = 'Template' and exists (
      select 1 from parts where case parts.kind when 'Layout' then parts.slug = v.layout_slug
        else parts.slug = any(v.part_slugs) end)
    order by slug, lower(locale), tenant_id nulls last limit ${MOST_USES}`;

/** Whether a template finds this part by its slug: another language or the tenant's own part may come first. */
async function usesVersion(
  q: Sql,
  tenantId: string | null,
  template: StoredTemplate,
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

const isRefusal = (error: unknown): error is Problem =>
  error instanceof Problem && REFUSALS.includes(error.code);

async function refusalOf(work: () => Promise<void>): Promise<string | null> {
  try {
    await work();
    return null;
  } catch (error) {
    if (isRefusal(error)) return error.message;
    throw error;
  }
}
