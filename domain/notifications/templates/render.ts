import { problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Message } from "../message.ts";
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
import type { TemplateCache } from "./template_cache.ts";
import { canonicalLocale } from "./locales.ts";
import { findTemplate, type StoredTemplate } from "./read.ts";
import { readVersionById } from "./versions.ts";

/** A template filled in: what a message of it says. */
export interface Rendition {
  subject: string | null;
  htmlBody: string | null;
  textBody: string | null;
  templateSlug: string;
  locale: string;
  templateVersion: number;
}

/** Templates of one tenant that may wait to be filled in for requests; messages that are delivered wait without a limit. */
const MAX_WAITING = 50;

type Renderer = Pick<Platform, "sql" | "renderThreads">;
interface RenderOptions {
  slug: string;
  locale: string | null;
  data: Record<string, unknown>;
  /** As `RenderThreads.run`. */
  maxWaiting?: number;
}

/**
 * Fills in the best fitting template of `slug`. A plain text is made from the HTML where the template has none.
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

/** As `renderTemplate`, for a request: refused where many of its tenant wait already. @throws RATE_LIMITED */
export const renderForRequest = (
  p: Renderer,
  tenantId: string | null,
  o: RenderOptions,
): Promise<Rendition> => renderTemplate(p, tenantId, { ...o, maxWaiting: MAX_WAITING });

/** Fills in the version a message was accepted with. @throws NOTIFICATION_TEMPLATE_INVALID */
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
  const order = { do: "render", key: versionId, source: sourceOf(template), data } as const;
  const words = await refusing(p.renderThreads.run(order, { tenantId, maxWaiting }));
  return { ...wordsOf(words), locale: template.locale, templateVersion: template.version };
}

const wordsOf = ({ subject, html, text }: RenderedTemplate) => ({ subject, htmlBody: html, textBody: text });

/**
 * Refuses a message whose template is missing or lacks variables, before it is stored; rendering itself waits until
 * the message is sent.
 * @returns the id of the version the message is to be filled in from; null where it has no template
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_VARIABLES_MISSING
 */
export async function requireRenderable(
  templates: Pick<TemplateCache, "find">,
  tenantId: string | null,
  message: Pick<Message, "templateSlug" | "locale" | "templateData">,
): Promise<string | null> {
  if (!message.templateSlug) return null;
  const template = await templates.find(tenantId, message.templateSlug, message.locale ?? null);
  const missing = missingVariables(
    parseRequiredVariables(template.requiredVariables),
    message.templateData ?? {},
  );
  if (missing.length > 0) throw refusalOf(new TemplateVariablesMissing(missing));
  return template.versionId;
}

/**
 * Fills in a template that is not stored, to look at while it is written. A plain text is made from the HTML where
 * there is none.
 * @throws VALIDATION_ERROR, NOTIFICATION_TEMPLATE_VARIABLES_MISSING, NOTIFICATION_TEMPLATE_INVALID, RATE_LIMITED
 */
export async function previewTemplate(
  p: Renderer,
  tenantId: string | null,
  template: SourceFields,
  data: Record<string, unknown>,
): Promise<Pick<Rendition, "subject" | "htmlBody" | "textBody">> {
  const locale = canonicalLocale(template.locale);
  const order = { do: "render", key: null, source: sourceOf({ ...template, locale }), data } as const;
  return wordsOf(await refusing(p.renderThreads.run(order, { tenantId, maxWaiting: MAX_WAITING })));
}

/** Shorter HTML is turned into text at once: that takes less time than handing it over. */
const SHORT = 10_000;

/** The plain text of HTML. */
export async function textOf(
  p: Renderer,
  tenantId: string | null,
  html: string,
  o: Pick<RenderOptions, "maxWaiting"> = {},
): Promise<string> {
  if (html.length < SHORT) return htmlToText(html);
  return (await p.renderThreads.run({ do: "text", html }, { tenantId, maxWaiting: o.maxWaiting })).text ??
    "";
}

/** As `textOf`, for a request: refused where many of its tenant wait already. @throws RATE_LIMITED */
export const textForRequest = (p: Renderer, tenantId: string | null, html: string): Promise<string> =>
  refusing(textOf(p, tenantId, html, { maxWaiting: MAX_WAITING }));

/** Refuses a template that cannot be understood. @throws NOTIFICATION_TEMPLATE_INVALID with line and column */
export async function requireValidTemplate(
  p: Renderer,
  tenantId: string | null,
  template: SourceFields,
): Promise<void> {
  const order = { do: "compile", source: sourceOf(template) } as const;
  await refusing(p.renderThreads.run(order, { tenantId, maxWaiting: MAX_WAITING }));
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

/** What `work` comes to, its failures told as refusals of the catalogue. */
async function refusing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
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
  if (error instanceof RenderQueueFull) {
    const headers = { "retry-after": "2" };
    return problem("RATE_LIMITED", `This tenant has asked for too much at once: ${error.message}.`, {
      headers,
    });
  }
  return error;
}
