import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { belongsTo, matches, readPage } from "../shared/lists.ts";
import type { PagedResult, PageRequest } from "../shared/paging.ts";
import { canonicalLocale, localeChain, localeForms, readDefaultLocale } from "./locales.ts";

/** A template is sent, a layout surrounds templates, and a partial is included in them. */
export const TEMPLATE_KINDS = ["Template", "Layout", "Partial"] as const;
export type TemplateKind = typeof TEMPLATE_KINDS[number];

/** Texts of the function `t`, by language and key. */
export const templateTexts = z.record(
  z.string().regex(/^[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,3}$/, "expected a language tag such as pt-BR"),
  z.record(z.string().min(1).max(100), z.string().max(5_000)).refine(
    (texts) => Object.keys(texts).length <= 500,
    "expected at most 500 texts",
  ),
).refine((languages) => Object.keys(languages).length <= 30, "expected at most 30 languages").meta({
  description: "Texts of the function `t`, by language and key",
  example: { en: { greeting: "Hello {name}" }, pt: { greeting: "Olá {name}" } },
});
export type TemplateTexts = z.output<typeof templateTexts>;

/** A stored template. `tenantId` is null for a shipped template. */
export interface StoredTemplate extends TemplateContent {
  id: string;
  tenantId: string | null;
  slug: string;
  /** Slugs of the partials it names itself. */
  partSlugs: string[];
  version: number;
  createdAt: Date;
  updatedAt: Date;
  changedBy: string | null;
}

/** The members of a template that a user writes and that each version keeps. */
export interface TemplateContent {
  name: string;
  locale: string;
  subjectTemplate: string | null;
  htmlBodyTemplate: string | null;
  textBodyTemplate: string | null;
  /** Comma-separated names. */
  requiredVariables: string;
  kind: TemplateKind;
  /** The layout around it; null: the default layout of mails. */
  layoutSlug: string | null;
  texts: TemplateTexts | null;
}

/** A template with the id of its current version. */
export type FoundTemplate = StoredTemplate & { versionId: string };

export type TemplateSummary =
  & Pick<
    StoredTemplate,
    "id" | "tenantId" | "slug" | "name" | "locale" | "kind" | "version" | "createdAt" | "updatedAt"
  >
  & { isShipped: boolean };

/** A template of the tenant, or a shipped one. @throws NOTIFICATION_TEMPLATE_NOT_FOUND */
export async function readTemplate(
  q: Sql,
  tenantId: string | null,
  id: string,
): Promise<StoredTemplate> {
  const [row] = await q<StoredTemplate[]>`
    select * from notification_templates where id = ${id} and (tenant_id = ${tenantId} or tenant_id is null)`;
  if (!row) throw templateNotFound(id);
  return row;
}

export const templateNotFound = (id: string) =>
  problem("NOTIFICATION_TEMPLATE_NOT_FOUND", `There is no template ${id} in this tenant.`);

/**
 * The template, layout or partial with `slug` in the best matching locale. In each locale, the tenant's own template has
 * priority over the shipped one.
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND
 */
export async function findTemplate(
  q: Sql,
  tenantId: string | null,
  slug: string,
  locale: string | null,
  kind: TemplateKind = "Template",
): Promise<FoundTemplate> {
  const wanted = locale === null ? null : canonicalLocale(locale);
  // The order is: the requested locale and its shorter forms, the tenant's default (longest form first), English.
  const matchesDefault = q`starts_with(lower(s.default_locale) || '-', lower(t.locale) || '-')`;
  const [row] = await q<FoundTemplate[]>`
    select t.*, v.id as version_id from notification_templates t
    join notification_template_versions v on v.template_id = t.id and v.version = t.version
    left join notification_settings s on s.tenant_id = ${tenantId}
    where t.slug = ${slug} and t.kind = ${kind} and (t.tenant_id = ${tenantId} or t.tenant_id is null)
      and (lower(t.locale) = any(${localeChain(wanted, null)}::text[]) or ${matchesDefault})
    order by array_position(${localeForms(wanted)}::text[], lower(t.locale)),
      ${matchesDefault} desc nulls last,
      length(t.locale) desc, t.tenant_id is null limit 1`;
  if (row) return row;
  const searched = localeChain(wanted, await readDefaultLocale(q, tenantId));
  throw problem(
    "NOTIFICATION_TEMPLATE_NOT_FOUND",
    `No ${kind.toLowerCase()} has the slug "${slug}" in any of the locales ${searched.join(", ")}.`,
  );
}

export interface TemplateFilter {
  tenantId: string | null;
  /** A language tag in any accepted spelling, such as `pt_br`. */
  locale: string | null;
  /** True: includes the shipped templates. */
  includeShipped: boolean;
  /** Part of the slug or name. */
  search?: string | undefined;
  kind?: TemplateKind | undefined;
}

/** A page of templates by slug and locale. */
export async function listTemplates(
  q: Sql,
  filter: TemplateFilter,
  page: PageRequest,
): Promise<PagedResult<TemplateSummary>> {
  const columns =
    q`id, tenant_id, slug, name, locale, kind, version, created_at, updated_at, tenant_id is null as is_shipped`;
  const from = q`notification_templates where ${fitting(q, filter)}`;
  const order = q`order by slug, lower(locale), tenant_id nulls last, id`;
  return await readPage(q, { columns, from, order }, page);
}

function fitting(q: Sql, { tenantId, locale, includeShipped, search, kind }: TemplateFilter) {
  return q`(${belongsTo(q, tenantId)} or (${includeShipped} and tenant_id is null))
    and (${locale}::text is null or lower(locale) = lower(replace(${locale}, '_', '-')))
    and (${kind ?? null}::text is null or kind = ${kind ?? null})
    and ${matches(q, "fold(slug || ' ' || name)", search)}`;
}
