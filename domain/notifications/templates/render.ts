import type { Queryable } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import type { Message } from "../message.ts";
import {
  type CompiledTemplate,
  compileTemplate,
  htmlToText,
  parseRequiredVariables,
  TemplateInvalid,
  TemplateLimitExceeded,
  type TemplatePart,
  type TemplateSource,
  TemplateVariablesMissing,
} from "../rendering/mod.ts";
import { missingVariables } from "../rendering/required_variables.ts";
import type { KnownTemplates } from "./known_templates.ts";
import { canonicalLocale } from "./locales.ts";
import { findTemplate, type StoredTemplate } from "./read.ts";

/** A template filled in: what a message of it says. */
export interface Rendition {
  subject: string | null;
  htmlBody: string | null;
  textBody: string | null;
  templateSlug: string;
  locale: string;
  templateVersion: number;
}

const REMEMBERED = 500;
/** Compiled templates by id and version, so an entry never goes stale; the least recently used one goes first. */
const compiled = new Map<string, CompiledTemplate>();

/**
 * Fills in the best fitting template of `slug`. A plain text is made from the HTML where the template has none.
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_VARIABLES_MISSING, NOTIFICATION_TEMPLATE_INVALID
 */
export async function renderTemplate(
  q: Queryable,
  tenantId: string | null,
  o: { slug: string; locale: string | null; data: Record<string, unknown> },
): Promise<Rendition> {
  const template = await findTemplate(q, tenantId, o.slug, o.locale);
  const { subject, html, text } = refusing(() => compiledOf(template).render(o.data));
  return {
    subject,
    htmlBody: html,
    textBody: text ?? (html === null ? null : htmlToText(html)),
    templateSlug: template.slug,
    locale: template.locale,
    templateVersion: template.version,
  };
}

/**
 * Refuses a message whose template is missing or lacks variables, before it is stored; rendering itself waits until
 * the message is sent.
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_VARIABLES_MISSING
 */
export async function requireRenderable(
  templates: Pick<KnownTemplates, "find">,
  tenantId: string | null,
  message: Pick<Message, "templateSlug" | "locale" | "templateData">,
): Promise<void> {
  if (!message.templateSlug) return;
  const template = await templates.find(tenantId, message.templateSlug, message.locale ?? null);
  const missing = missingVariables(
    parseRequiredVariables(template.requiredVariables),
    message.templateData ?? {},
  );
  if (missing.length > 0) throw refusalOf(new TemplateVariablesMissing(missing));
}

/**
 * Fills in a template that is not stored, to look at while it is written. A plain text is made from the HTML where
 * there is none.
 * @throws VALIDATION_ERROR, NOTIFICATION_TEMPLATE_VARIABLES_MISSING, NOTIFICATION_TEMPLATE_INVALID
 */
export function previewTemplate(
  template: SourceFields,
  data: Record<string, unknown>,
): Pick<Rendition, "subject" | "htmlBody" | "textBody"> {
  const locale = canonicalLocale(template.locale);
  const { subject, html, text } = refusing(() =>
    compileTemplate(sourceOf({ ...template, locale })).render(data)
  );
  return { subject, htmlBody: html, textBody: text ?? (html === null ? null : htmlToText(html)) };
}

/** Refuses a template that cannot be understood. @throws NOTIFICATION_TEMPLATE_INVALID with line and column */
export function requireValidTemplate(template: SourceFields): void {
  refusing(() => compileTemplate(sourceOf(template)));
}

type SourceFields = Pick<
  StoredTemplate,
  "locale" | "subjectTemplate" | "htmlBodyTemplate" | "textBodyTemplate" | "requiredVariables"
>;

const sourceOf = (template: SourceFields): TemplateSource => ({
  subject: template.subjectTemplate,
  html: template.htmlBodyTemplate,
  text: template.textBodyTemplate,
  locale: template.locale,
  requiredVariables: parseRequiredVariables(template.requiredVariables),
});

function compiledOf(template: StoredTemplate): CompiledTemplate {
  const key = `${template.id} ${template.version}`;
  const known = compiled.get(key) ?? compileTemplate(sourceOf(template));
  compiled.delete(key);
  compiled.set(key, known);
  if (compiled.size > REMEMBERED) compiled.delete(compiled.keys().next().value ?? "");
  return known;
}

/** Does `work`, its failures told as refusals of the catalogue. */
function refusing<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw refusalOf(error);
  }
}

/** The field of a request that holds each part. */
const PART_FIELDS: Record<TemplatePart, string> = {
  subject: "subjectTemplate",
  html: "htmlBodyTemplate",
  text: "textBodyTemplate",
  locale: "locale",
};

function refusalOf(error: unknown): unknown {
  if (error instanceof TemplateVariablesMissing) {
    return problem("NOTIFICATION_TEMPLATE_VARIABLES_MISSING", error.message, {
      errors: Object.fromEntries(error.names.map((name) => [name, ["the template requires a value"]])),
    });
  }
  if (error instanceof TemplateInvalid) {
    const { part, line, column, reason } = error;
    return problem("NOTIFICATION_TEMPLATE_INVALID", error.message, {
      errors: { [PART_FIELDS[part]]: [`line ${line}, column ${column}: ${reason}`] },
    });
  }
  if (error instanceof TemplateLimitExceeded) {
    return problem("NOTIFICATION_TEMPLATE_INVALID", error.message);
  }
  return error;
}
