import type { Sql } from "../../../infra/postgres/postgres.ts";
import { MarkupInvalid } from "../../documents/markup/markup.ts";
import { isTemplateFault } from "../../documents/template_fault.ts";
import { Problem, problem } from "../../problems/problem.ts";
import {
  type Inspection,
  RenderQueueFull,
  TemplateInvalid,
  TemplateLimitExceeded,
  type TemplatePart,
  type TemplateSource,
  TemplateVariablesMissing,
} from "../../templates/language/mod.ts";
import { canonicalLocale } from "../../templates/locales.ts";
import {
  composeSource,
  type PartReader,
  pinParts,
  sourceOf,
  type TemplatePins,
} from "../../templates/parts.ts";
import { tooManyRenders } from "../../templates/render.ts";
import type { DocumentTemplate } from "./template.ts";

/** A document template as a caller gives it. */
export type GivenDocument = Pick<
  DocumentTemplate,
  "locale" | "titleTemplate" | "bodyTemplate" | "requiredVariables" | "texts"
>;

/** A document template as it is stored: with the slugs of the partials that it names. */
type StoredDocument = GivenDocument & Pick<DocumentTemplate, "partSlugs">;

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

/** Runs `work` and converts its errors to problems of document templates. */
export async function withProblems<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw problemOf(error);
  }
}

/** The request field of each part of a template. Partials give the title their text and the body their HTML. */
const FIELDS: Record<TemplatePart, string> = {
  subject: "titleTemplate",
  html: "bodyTemplate",
  text: "bodyTemplate",
  locale: "locale",
};

function problemOf(error: unknown): unknown {
  if (error instanceof TemplateVariablesMissing) return variablesMissing(error.names, "data");
  if (error instanceof TemplateInvalid) {
    const { part, line, column, reason } = error;
    const field = FIELDS[part];
    const position = `line ${line}, column ${column}: ${reason}`;
    return problem("DOCUMENT_TEMPLATE_INVALID", `${field}, ${position}`, { errors: { [field]: [position] } });
  }
  if (error instanceof MarkupInvalid) {
    const errors = { bodyTemplate: [error.message] };
    return problem("DOCUMENT_TEMPLATE_INVALID", `bodyTemplate, ${error.message}`, { errors });
  }
  if (error instanceof TemplateLimitExceeded) return problem("DOCUMENT_TEMPLATE_INVALID", error.message);
  if (error instanceof RenderQueueFull) return tooManyRenders(error);
  if (isTemplateFault(error)) {
    const errors = { bodyTemplate: [error.message] };
    return problem("DOCUMENT_TEMPLATE_INVALID", error.message, { errors });
  }
  return ofPartials(error);
}

/** The search for partials reports its problems as those of message templates. */
function ofPartials(error: unknown): unknown {
  if (!(error instanceof Problem)) return error;
  if (error.code === "NOTIFICATION_TEMPLATE_INVALID") {
    return problem("DOCUMENT_TEMPLATE_INVALID", error.message);
  }
  if (error.code !== "NOTIFICATION_TEMPLATE_NOT_FOUND") return error;
  const detail = `The template uses a partial that is missing. ${error.message}`;
  return problem("DOCUMENT_TEMPLATE_INVALID", detail);
}

/** @param field the data's name in the request */
export const variablesMissing = (names: string[], field: string): Problem =>
  problem(
    "DOCUMENT_TEMPLATE_VARIABLES_MISSING",
    `${field} lacks variables that the template requires: ${names.join(", ")}.`,
    {
      errors: Object.fromEntries(
        names.map((name) => [`${field}.${name}`, ["the template requires a value"]]),
      ),
    },
  );
