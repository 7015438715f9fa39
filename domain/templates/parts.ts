import type { Sql } from "../../infra/postgres/postgres.ts";
import { Problem, problem } from "../problems/problem.ts";
import {
  type Inspection,
  MAX_WAITING,
  parseRequiredVariables,
  type PartSource,
  type TemplateSource,
} from "./language/mod.ts";
import { canonicalLocale, localeForms, readDefaultLocale } from "./locales.ts";
import { findTemplate, type StoredTemplate, type TemplateTexts } from "./read.ts";
import type { TemplatePlatform } from "./platform.ts";
import { readVersionsById, type TemplateVersion } from "./versions.ts";

/** Maximum number of layouts and partials of one template, counting the partials of partials. */
const MAX_PARTS = 50;

/** The versions that a message keeps besides the version of its template, so that later changes do not affect it. */
export interface TemplatePins {
  /** The language of the texts, if the template or one of its parts has texts. */
  language: string | null;
  /** Ids of the versions of its layout and partials, by slug. */
  parts: Record<string, string>;
}

export type PartReader = Pick<TemplatePlatform, "sql" | "renderThreads">;

/** The members of a template or version that lead to its parts. */
export type Composed = Pick<StoredTemplate, "locale" | "layoutSlug" | "partSlugs" | "texts">;

/**
 * The current versions of the layout and partials of a template, found in its own locale with the usual fallback.
 * @param wanted the requested language; null: the tenant's default
 * @param o.skipsMissing true: partials that do not exist are left out, because the compiler reports them with their position
 * @returns null if it uses no parts and has no texts
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND for a layout or partial that does not exist, NOTIFICATION_TEMPLATE_INVALID for too
 * many parts if missing ones are skipped
 */
export async function pinParts(
  q: Sql,
  tenantId: string | null,
  template: Composed,
  wanted: string | null,
  o: { skipsMissing?: boolean } = {},
): Promise<TemplatePins | null> {
  const parts: Record<string, string> = {};
  let hasTexts = template.texts !== null;
  const queue = [
    ...template.layoutSlug === null ? [] : [{ slug: template.layoutSlug, kind: "Layout" as const }],
    ...template.partSlugs.map((slug) => ({ slug, kind: "Partial" as const })),
  ];
  for (let next = queue.shift(); next; next = queue.shift()) {
    const { slug, kind } = next;
    if (Object.hasOwn(parts, slug)) continue;
    if (Object.keys(parts).length >= MAX_PARTS) {
      if (o.skipsMissing) throw tooManyParts();
      continue;
    }
    const found = await findTemplate(q, tenantId, slug, template.locale, kind).catch((refusal) => {
      if (o.skipsMissing && refusal instanceof Problem && kind === "Partial") return null;
      throw refusal;
    });
    if (!found) continue;
    parts[slug] = found.versionId;
    hasTexts ||= found.texts !== null;
    queue.push(...found.partSlugs.map((inner) => ({ slug: inner, kind: "Partial" as const })));
  }
  if (!hasTexts && Object.keys(parts).length === 0) return null;
  const language = wanted === null ? await readDefaultLocale(q, tenantId) : canonicalLocale(wanted);
  return { language: hasTexts ? language : null, parts };
}

const tooManyParts = () =>
  problem("NOTIFICATION_TEMPLATE_INVALID", `A template uses at most ${MAX_PARTS} partials and layouts.`);

/**
 * The source of a template that is not stored, with the current versions of its parts, for a request.
 * @param wanted the requested language; null: the tenant's default
 * @throws as `pinParts` with `skipsMissing`, TemplateInvalid, RenderQueueFull
 */
export async function composeSource(
  p: PartReader,
  tenantId: string | null,
  given: Omit<SourceFields, "partSlugs">,
  wanted: string | null,
): Promise<{ source: TemplateSource; inspection: Inspection }> {
  const { subjectTemplate: subject, htmlBodyTemplate: html, textBodyTemplate: text } = given;
  const inspect = { do: "inspect", source: { subject, html, text } } as const;
  const inspection = await p.renderThreads.run(inspect, { tenantId, maxWaiting: MAX_WAITING });
  const template = { ...given, partSlugs: inspection.partials };
  const pins = await pinParts(p.sql, tenantId, template, wanted, { skipsMissing: true });
  return { source: await sourceOf(p.sql, template, pins), inspection };
}

/** The cache key of a version that is rendered with its pinned parts. */
export const renderKey = (versionId: string, pins: TemplatePins | null): string =>
  pins ? `${versionId} ${JSON.stringify(pins)}` : versionId;

/** The members of a template or version that its source is made of. */
export type SourceFields =
  & Composed
  & Pick<
    StoredTemplate,
    "kind" | "subjectTemplate" | "htmlBodyTemplate" | "textBodyTemplate" | "requiredVariables"
  >
  & { slug?: string };

/** The source of a template with its pinned parts. */
export async function sourceOf(
  q: Sql,
  template: SourceFields,
  pins: TemplatePins | null,
): Promise<TemplateSource> {
  const { kind, locale, layoutSlug, texts } = template;
  const language = pins?.language ?? null;
  const source: TemplateSource = {
    subject: template.subjectTemplate,
    html: template.htmlBodyTemplate,
    text: template.textBodyTemplate,
    locale: language !== null && languageIn(texts, [language]) !== null ? language : locale,
    requiredVariables: parseRequiredVariables(template.requiredVariables),
    isLayout: kind === "Layout",
    partialSlug: kind === "Partial" ? template.slug ?? null : null,
    texts: textsIn(texts, language, locale),
  };
  if (!pins) return source;
  const versions = new Map(
    (await readVersionsById(q, Object.values(pins.parts))).map((version) => [version.id, version]),
  );
  const partOf = (version: TemplateVersion): PartSource => ({
    html: version.htmlBodyTemplate,
    text: version.textBodyTemplate,
    texts: textsIn(version.texts, language, locale),
  });
  const partials = Object.entries(pins.parts).flatMap(([slug, id]) => {
    const version = versions.get(id);
    return version ? [[slug, version] as const] : [];
  });
  const layout = partials.find(([slug]) => slug === layoutSlug)?.[1];
  return {
    ...source,
    layout: layout ? partOf(layout) : null,
    partials: Object.fromEntries(
      partials.filter(([, version]) => version.kind === "Partial").map((
        [slug, version],
      ) => [slug, partOf(version)]),
    ),
  };
}

/** The language of `texts` that matches the wanted tags best: the first tag, or its longest shorter form, that has texts. */
function languageIn(texts: TemplateTexts | null, wanted: readonly (string | null)[]): string | null {
  const known = new Map(Object.keys(texts ?? {}).map((language) => [language.toLowerCase(), language]));
  const form = wanted.flatMap(localeForms).find((each) => known.has(each));
  return form === undefined ? null : known.get(form) ?? null;
}

/** The texts of the best matching language. Missing texts are taken from the template's own locale. */
function textsIn(
  texts: TemplateTexts | null,
  language: string | null,
  locale: string,
): Record<string, string> {
  if (!texts) return {};
  const of = (found: string | null) => found === null ? {} : texts[found];
  return { ...of(languageIn(texts, [locale])), ...of(languageIn(texts, [language, locale])) };
}
