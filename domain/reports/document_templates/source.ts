import type { Sql } from "../../../infra/postgres/postgres.ts";
import type { Inspection, TemplateSource } from "../../templates/language/mod.ts";
import { canonicalLocale } from "../../templates/locales.ts";
import {
  composeSource,
  type PartReader,
  pinParts,
  sourceOf,
  type TemplatePins,
} from "../../templates/parts.ts";
import { withProblems } from "./problems.ts";
import type { DocumentTemplate } from "./template.ts";

/** A document template as a caller gives it. */
export type GivenDocument = Pick<
  DocumentTemplate,
  "locale" | "titleTemplate" | "bodyTemplate" | "requiredVariables" | "texts"
>;

/** A document template as it is stored: with the slugs of the partials that it names. */
export type StoredDocument = GivenDocument & Pick<DocumentTemplate, "partSlugs">;

/** A document template in the words of message templates: the title is a subject, the body is HTML. */
export const inMessageTerms = <T extends GivenDocument>({ titleTemplate, bodyTemplate, ...rest }: T) => ({
  ...rest,
  kind: "Template" as const,
  layoutSlug: null,
  subjectTemplate: titleTemplate,
  htmlBodyTemplate: bodyTemplate,
  textBodyTemplate: null,
});

/**
 * The language of a document and the versions of its partials.
 * @param language the requested one; null: the tenant's default
 * @returns null if the template has no texts and no partials
 * @throws DOCUMENT_TEMPLATE_INVALID for a partial that does not exist
 */
export const pinDocument = (
  q: Sql,
  tenantId: string,
  template: StoredDocument,
  language: string | null,
): Promise<TemplatePins | null> =>
  withProblems(() => pinParts(q, tenantId, inMessageTerms(template), language));

/** The source of a template with its pinned partials. */
export const pinnedSource = (
  q: Sql,
  template: StoredDocument,
  pins: TemplatePins | null,
): Promise<TemplateSource> => sourceOf(q, inMessageTerms(template), pins);

/**
 * The source of a template that is not stored, with the current versions of its partials, and what it contains. Partials
 * that do not exist are left out: the compiler reports them with their position.
 * @param language the requested one; null: the tenant's default
 * @throws DOCUMENT_TEMPLATE_INVALID with line and column, VALIDATION_ERROR for a wrong language tag, RATE_LIMITED
 */
export async function givenSource(
  p: PartReader,
  tenantId: string,
  given: GivenDocument,
  language: string | null,
): Promise<{ source: TemplateSource; inspection: Inspection }> {
  const wanted = language === null ? null : canonicalLocale(language, "language");
  return await withProblems(() => composeSource(p, tenantId, inMessageTerms(given), wanted));
}
