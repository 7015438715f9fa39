import type { Sql } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import type { Message } from "../message.ts";
import type { NotificationPlatform } from "../platform.ts";
import {
  htmlToText,
  parseRequiredVariables,
  type RenderedTemplate,
  RenderQueueFull,
  TemplateInvalid,
  TemplateLimitExceeded,
  type TemplatePart,
  type TemplateSource,
  TemplateVariablesMissing,
} from "../rendering/mod.ts";
import { missingVariables } from "../rendering/required_variables.ts";
import { canonicalLocale } from "./locales.ts";
import { findTemplate, type StoredTemplate } from "./read.ts";
import { findRequirements } from "./template_cache.ts";
import { readVersionById } from "./versions.ts";

/** A rendered template. */
export interface Rendition {
  subject: string | null;
  htmlBody: string | null;
  textBody: string | null;
  templateSlug: string;
  locale: string;
  templateVersion: number;
}

/** Maximum waiting renders of one tenant for requests. Renders for deliveries have no limit. */
const MAX_WAITING = 50;

type Renderer = Pick<NotificationPlatform, "sql" | "renderThreads">;
interface RenderOptions {
  slug: string;
  locale: string | null;
  data: Record<string, unknown>;
  /** See `RenderThreads.run`. */
  maxWaiting?: number;
}

/**
 * Renders the best matching template of `slug`. If it has no plain text, the text is made from the HTML.
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_VARIABLES_MISSING, NOTIFICATION_TEMPLATE_INVALID
 */
export async function renderTemplate(
  p: Renderer,
  tenantId: string | null,
  o: RenderOptions,
): Promise<Rendition> {
  const template = await findTemplate(p.sql, tenantId, o.slug, o.locale);
  return { ...await fillIn(p, tenantId, template.versionId, template, o), templateSlug: template.slug };
}

/** Like `renderTemplate`, for a request. @throws RATE_LIMITED if MAX_WAITING renders of the tenant wait already */
export const renderForRequest = (
  p: Renderer,
  tenantId: string | null,
  o: RenderOptions,
): Promise<Rendition> => renderTemplate(p, tenantId, { ...o, maxWaiting: MAX_WAITING });

/** Renders the template version that a message refers to. @throws NOTIFICATION_TEMPLATE_INVALID */
export async function renderVersionById(
  p: Renderer,
  tenantId: string | null,
  versionId: string,
  data: Record<string, unknown>,
): Promise<Omit<Rendition, "templateSlug">> {
  return await fillIn(p, tenantId, versionId, await readVersionById(p.sql, versionId), { data });
}

async function fillIn(
  p: Renderer,
  tenantId: string | null,
  versionId: string,
  template: SourceFields & Pick<StoredTemplate, "version">,
  { data, maxWaiting }: Pick<RenderOptions, "data" | "maxWaiting">,
): Promise<Omit<Rendition, "templateSlug">> {
  const task = { do: "render", key: versionId, source: sourceOf(template), data } as const;
  const rendered = await withProblems(p.renderThreads.run(task, { tenantId, maxWaiting }));
  return { ...textsOf(rendered), locale: template.locale, templateVersion: template.version };
}

const textsOf = ({ subject, html, text }: RenderedTemplate) => ({ subject, htmlBody: html, textBody: text });

/**
 * Refuses a message whose template is missing, or whose data lacks required variables, before it is stored. The template
 * is rendered when the message is sent.
 * @returns the id of the template version for the message; null without a template
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_VARIABLES_MISSING
 */
export async function requireRenderable(
  sql: Sql,
  tenantId: string | null,
  message: Pick<Message, "templateSlug" | "locale" | "templateData">,
): Promise<string | null> {
  if (!message.templateSlug) return null;
  const template = await findRequirements(sql, tenantId, message.templateSlug, message.locale ?? null);
  const missing = missingVariables(
    parseRequiredVariables(template.requiredVariables),
    message.templateData ?? {},
  );
  if (missing.length > 0) throw problemOf(new TemplateVariablesMissing(missing));
  return template.versionId;
}

/**
 * Renders a template that is not stored, for the preview in an editor. If it has no plain text, the text is made from the
 * HTML.
 * @throws VALIDATION_ERROR, NOTIFICATION_TEMPLATE_VARIABLES_MISSING, NOTIFICATION_TEMPLATE_INVALID, RATE_LIMITED
 */
export async function previewTemplate(
  p: Renderer,
  tenantId: string | null,
  template: SourceFields,
  data: Record<string, unknown>,
): Promise<Pick<Rendition, "subject" | "htmlBody" | "textBody">> {
  const locale = canonicalLocale(template.locale);
  const task = { do: "render", key: null, source: sourceOf({ ...template, locale }), data } as const;
  return textsOf(await withProblems(p.renderThreads.run(task, { tenantId, maxWaiting: MAX_WAITING })));
}

/** HTML with fewer characters is converted on the main thread, which is faster than passing it to a render thread. */
const SHORT_HTML = 10_000;

/** Converts HTML to plain text. */
export async function textOf(
  p: Renderer,
  tenantId: string | null,
  html: string,
  o: Pick<RenderOptions, "maxWaiting"> = {},
): Promise<string> {
  if (html.length < SHORT_HTML) return htmlToText(html);
  return (await p.renderThreads.run({ do: "text", html }, { tenantId, maxWaiting: o.maxWaiting })).text ??
    "";
}

/** Like `textOf`, for a request. @throws RATE_LIMITED if MAX_WAITING renders of the tenant wait already */
export const textForRequest = (p: Renderer, tenantId: string | null, html: string): Promise<string> =>
  withProblems(textOf(p, tenantId, html, { maxWaiting: MAX_WAITING }));

/** Compiles a template to check it. @throws NOTIFICATION_TEMPLATE_INVALID with line and column, RATE_LIMITED */
export async function requireValidTemplate(
  p: Renderer,
  tenantId: string | null,
  template: SourceFields,
): Promise<void> {
  const task = { do: "compile", source: sourceOf(template) } as const;
  await withProblems(p.renderThreads.run(task, { tenantId, maxWaiting: MAX_WAITING }));
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

/** Awaits `work` and converts rendering errors to problems of the catalogue. */
async function withProblems<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw problemOf(error);
  }
}

/** The request field of each template part. */
const PART_FIELDS: Record<TemplatePart, string> = {
  subject: "subjectTemplate",
  html: "htmlBodyTemplate",
  text: "textBodyTemplate",
  locale: "locale",
};

/** The problem of a rendering error; other errors are returned unchanged. */
function problemOf(error: unknown): unknown {
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
  if (error instanceof RenderQueueFull) {
    const headers = { "retry-after": "2" };
    return problem("RATE_LIMITED", `Too many requests: ${error.message} for this tenant.`, {
      headers,
    });
  }
  return error;
}
