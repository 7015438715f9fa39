import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { logoUrl, readPageLooks } from "../looks/looks.ts";
import { isWholeDocument, mailDocument } from "../looks/mail_document.ts";
import { Problem, problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import {
  htmlToText,
  type Inspection,
  MAX_WAITING,
  parseRequiredVariables,
  type RenderedTemplate,
  RenderQueueFull,
  TemplateInvalid,
  TemplateLimitExceeded,
  type TemplatePart,
  type TemplateSource,
  TemplateVariablesMissing,
} from "./language/mod.ts";
import { missingVariables } from "./language/required_variables.ts";
import { canonicalLocale } from "./locales.ts";
import {
  composeSource,
  type PartReader,
  pinParts,
  renderKey,
  type SourceFields,
  sourceOf,
  type TemplatePins,
} from "./parts.ts";
import type { TemplatePlatform } from "./platform.ts";
import { findTemplate, type StoredTemplate } from "./read.ts";
import { findRequirements } from "./template_cache.ts";
import { readVersionById, requireTemplateVersion } from "./versions.ts";

/** A rendered template. */
export const Rendition = z.object({
  subject: z.string().nullable(),
  htmlBody: z.string().nullable(),
  textBody: z.string().nullable(),
  templateSlug: z.string(),
  locale: z.string(),
  templateVersion: z.int(),
}).meta({ id: "RenderedNotification" });
export type Rendition = z.output<typeof Rendition>;

type Renderer = Pick<TemplatePlatform, "sql" | "renderThreads" | "config" | "baseUrl">;

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
  const pins = await pinParts(p.sql, tenantId, template, o.locale);
  const rendered = await renderPinned(p, tenantId, { ...template, id: template.versionId }, pins, o);
  return { ...rendered, templateSlug: template.slug };
}

/** Calls `renderTemplate` for a request. @throws as it, and RATE_LIMITED if MAX_WAITING renders of the tenant already wait */
export const renderForRequest = (
  p: Renderer,
  tenantId: string | null,
  o: RenderOptions,
): Promise<Rendition> => renderTemplate(p, tenantId, { ...o, maxWaiting: MAX_WAITING });

/** Renders a stored template with its current parts, for a request. Throws like `renderForRequest`. */
export async function renderStored(
  p: Renderer,
  tenantId: string | null,
  template: StoredTemplate,
  { data, locale }: { data: Record<string, unknown>; locale: string | null },
): Promise<Omit<Rendition, "templateSlug">> {
  const pins = await pinParts(p.sql, tenantId, template, locale ?? template.locale);
  const { id } = await requireTemplateVersion(p.sql, template.id, template.version);
  return await renderPinned(p, tenantId, { ...template, id }, pins, { data, maxWaiting: MAX_WAITING });
}

/** Renders the template version that a message refers to, with its pinned parts. @throws NOTIFICATION_TEMPLATE_INVALID */
export async function renderVersionById(
  p: Renderer,
  tenantId: string | null,
  { versionId, pins }: { versionId: string; pins: TemplatePins | null },
  data: Record<string, unknown>,
): Promise<Omit<Rendition, "templateSlug">> {
  return await renderPinned(p, tenantId, await readVersionById(p.sql, versionId), pins, { data });
}

/** Renders a version with its pinned parts. @param template `id` is the id of the version */
async function renderPinned(
  p: Renderer,
  tenantId: string | null,
  template: SourceFields & Pick<StoredTemplate, "version"> & { id: string },
  pins: TemplatePins | null,
  { data, maxWaiting }: Pick<RenderOptions, "data" | "maxWaiting">,
): Promise<Omit<Rendition, "templateSlug">> {
  const source = await sourceOf(p.sql, template, pins);
  const key = renderKey(template.id, pins);
  const rendered = await withProblems(renderSource(p, tenantId, source, { key, data, maxWaiting }));
  return { ...textsOf(rendered), locale: source.locale, templateVersion: template.version };
}

/** Renders a source in the tenant's looks. Throws the errors of `RenderThreads.run`. @param o.key null: it is not cached */
export async function renderSource(
  p: Renderer,
  tenantId: string | null,
  source: TemplateSource,
  { key, data, maxWaiting }: Pick<RenderOptions, "data" | "maxWaiting"> & { key: string | null },
): Promise<RenderedTemplate> {
  const looks = await looksFor(p, tenantId, source);
  return await p.renderThreads.run({ do: "render", key, source, data, looks }, { tenantId, maxWaiting });
}

const textsOf = ({ subject, html, text }: RenderedTemplate) => ({ subject, htmlBody: html, textBody: text });

/** The template that a message names, with the data that fills it in. */
interface NamedTemplate {
  templateSlug?: string | null;
  /** Requested language; absent: the tenant's default. */
  locale?: string | null;
  templateData?: Record<string, unknown> | null;
}

/** The template of a message as it was when the message was accepted. */
export interface PinnedTemplate {
  templateVersionId: string | null;
  templatePins: TemplatePins | null;
}

/**
 * Refuses a message whose template is missing, or whose data lacks required variables, before it is stored. The template
 * is rendered when the message is sent.
 * @returns the versions that the message keeps; null without a template
 * @throws NOTIFICATION_TEMPLATE_NOT_FOUND, NOTIFICATION_TEMPLATE_VARIABLES_MISSING
 */
export async function requireRenderable(
  q: Sql,
  tenantId: string | null,
  message: NamedTemplate,
): Promise<PinnedTemplate> {
  if (!message.templateSlug) return { templateVersionId: null, templatePins: null };
  const template = await findRequirements(q, tenantId, message.templateSlug, message.locale ?? null);
  const missing = missingVariables(
    parseRequiredVariables(template.requiredVariables),
    message.templateData ?? {},
  );
  if (missing.length > 0) throw problemOf(new TemplateVariablesMissing(missing));
  return { templateVersionId: template.versionId, templatePins: template.pins };
}

/**
 * Renders a template that is not stored, for the preview in an editor. If it has no plain text, the text is made from the
 * HTML.
 * @param requestedData null: sample data
 * @returns the texts, and the data from which they were rendered
 * @throws VALIDATION_ERROR, NOTIFICATION_TEMPLATE_VARIABLES_MISSING, NOTIFICATION_TEMPLATE_INVALID, RATE_LIMITED
 */
export async function previewTemplate(
  p: Renderer,
  tenantId: string | null,
  given: GivenTemplate,
  requestedData: Record<string, unknown> | null,
): Promise<Pick<Rendition, "subject" | "htmlBody" | "textBody"> & { data: Record<string, unknown> }> {
  const { source } = await composeGiven(p, tenantId, given);
  const data = requestedData ?? await sampleDataFor(p, tenantId, source);
  const rendering = { key: null, data, maxWaiting: MAX_WAITING };
  const rendered = await withProblems(renderSource(p, tenantId, source, rendering));
  return { ...textsOf(rendered), data };
}

/** A template that is not stored yet. */
type GivenTemplate = Omit<SourceFields, "partSlugs">;

/**
 * The source of a template that is not stored, and its inspection.
 * @throws as `composeSource`, but NOTIFICATION_TEMPLATE_INVALID for a missing part
 */
async function composeGiven(
  p: PartReader,
  tenantId: string | null,
  given: GivenTemplate,
): Promise<{ source: TemplateSource; inspection: Inspection }> {
  const locale = canonicalLocale(given.locale);
  try {
    return await withProblems(composeSource(p, tenantId, { ...given, locale }, locale));
  } catch (refusal) {
    if (!(refusal instanceof Problem) || refusal.code !== "NOTIFICATION_TEMPLATE_NOT_FOUND") throw refusal;
    throw problem(
      "NOTIFICATION_TEMPLATE_INVALID",
      `The template uses a part that is missing. ${refusal.message}`,
    );
  }
}

/**
 * Data with a fitting value for every variable that a stored template and its parts use.
 * @throws NOTIFICATION_TEMPLATE_INVALID, NOTIFICATION_TEMPLATE_NOT_FOUND for a part that is missing, RATE_LIMITED
 */
export async function sampleDataOf(
  p: Renderer,
  tenantId: string | null,
  template: StoredTemplate,
): Promise<Record<string, unknown>> {
  const source = await sourceOf(p.sql, template, await pinParts(p.sql, tenantId, template, null));
  return await sampleDataFor(p, tenantId, source);
}

const sampleDataFor = (p: Renderer, tenantId: string | null, source: TemplateSource) =>
  withProblems(p.renderThreads.run({ do: "sample", source }, { tenantId, maxWaiting: MAX_WAITING }));

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

/** Calls `textOf` for a request. @throws RATE_LIMITED if MAX_WAITING renders of the tenant already wait */
export const textForRequest = (p: Renderer, tenantId: string | null, html: string): Promise<string> =>
  withProblems(textOf(p, tenantId, html, { maxWaiting: MAX_WAITING }));

/**
 * Compiles a template with its parts to check it.
 * @returns the slugs of the partials it names
 * @throws NOTIFICATION_TEMPLATE_INVALID with line and column, RATE_LIMITED
 */
export async function requireValidTemplate(
  p: PartReader,
  tenantId: string | null,
  template: GivenTemplate,
): Promise<string[]> {
  const { source, inspection } = await composeGiven(p, tenantId, template);
  if (template.kind === "Layout") requireBodies(template, inspection);
  await withProblems(p.renderThreads.run({ do: "compile", source }, { tenantId, maxWaiting: MAX_WAITING }));
  return inspection.partials;
}

/** Refuses a layout without an HTML body, or with a body that does not show the template. */
function requireBodies(template: GivenTemplate, { withBody }: Inspection): void {
  const lacking = (["html", "text"] as const).filter((part) =>
    template[`${part}BodyTemplate`] !== null && !withBody.includes(part)
  );
  if (template.htmlBodyTemplate !== null && lacking.length === 0) return;
  const part = template.htmlBodyTemplate === null ? "html" : lacking[0] ?? "html";
  throw problemOf(
    new TemplateInvalid(part, 1, 1, "a layout needs {{{ body }}}, which stands for the template"),
  );
}

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
  return error instanceof RenderQueueFull ? tooManyRenders(error) : error;
}

/** The problem of a tenant with too many waiting renders. */
export const tooManyRenders = ({ message }: RenderQueueFull): Problem =>
  problem("RATE_LIMITED", `Too many requests: ${message} for this tenant.`, {
    headers: { "retry-after": "2" },
  });

/**
 * Puts the texts of a mail into the tenant's looks. HTML that is not a whole document is put into the default layout, and
 * the footer is added to the text. A mail whose HTML is a whole document stays unchanged.
 */
export async function inLayout<T extends RenderedTemplate>(
  p: Pick<Platform, "sql" | "config" | "baseUrl">,
  tenantId: string | null,
  texts: T,
  language: string | null,
): Promise<T> {
  const { subject, html, text } = texts;
  if (html === null ? text === null : isWholeDocument(html)) return texts;
  const looks = await readPageLooks(p, tenantId);
  const logo = looks.logo && tenantId !== null ? logoUrl(p.baseUrl(), tenantId, looks.logo) : null;
  return {
    ...texts,
    html: html === null ? null : mailDocument(html, looks, { title: subject ?? "", logoUrl: logo, language }),
    text: text === null || looks.footer === "" ? text : `${text}\n\n${looks.footer}`,
  };
}

/** The value of `@looks` for a template and its parts; null if they do not use it. */
async function looksFor(
  p: Pick<Platform, "sql" | "config" | "baseUrl">,
  tenantId: string | null,
  source: TemplateSource,
): Promise<Record<string, unknown> | null> {
  const parts = [source, source.layout, ...Object.values(source.partials ?? {})];
  const areUsed = [source.subject, ...parts.flatMap((part) => [part?.html, part?.text])]
    .some((text) => text?.includes("@looks"));
  return areUsed ? await shownLooks(p, tenantId) : null;
}

async function shownLooks(
  p: Pick<Platform, "sql" | "config" | "baseUrl">,
  tenantId: string | null,
): Promise<Record<string, unknown>> {
  const { logo, senderName: _, senderAddress: __, ...looks } = await readPageLooks(p, tenantId);
  return {
    ...looks,
    logoUrl: logo && tenantId !== null ? logoUrl(p.baseUrl(), tenantId, logo) : null,
    logoWidth: logo?.width ?? null,
    logoHeight: logo?.height ?? null,
  };
}
