import type { MailAttachment } from "../../infra/mail/mail.ts";
import type { HeldNotification } from "./delivery_ledger.ts";
import type { NotificationPlatform } from "./platform.ts";
import { inLayout, renderTemplate, renderVersionById, type Rendition, textOf } from "../templates/render.ts";

/** The content of a message, ready for a provider. */
export interface Content {
  subject: string | null;
  html: string | null;
  /** Made from the HTML if the message has no text body. */
  text: string | null;
  attachments: MailAttachment[];
  headers?: Record<string, string>;
  /** Renders the content with a link instead of the attachments, for when the mail server finds them too large. */
  linked?: () => Promise<Content>;
}

/**
 * A member of the template data of a message with attachments. Its value is an object; merged into the template data, it
 * makes the template show a link instead of the attachments.
 */
export const LINK_INSTEAD = "linkInstead";

/** A member of the template data of the service's own mails: the id of the tenant in whose looks they are shown. */
export const LOOKS_OF = "looksOf";

/** A message ready to be sent. */
export interface PreparedMessage {
  content: Content;
  /** The template as this run rendered it; null without a template, or if an earlier run rendered it. */
  rendition: Rendition | null;
}

/**
 * The content of a message: its own texts, or else those of its template, in the version of the time it was accepted.
 * The first run renders the template and stores the result, which later runs send. The result of a confidential message
 * is not stored, so every run renders it again.
 * @throws Problem if the template cannot be rendered, or the content of an attached file is gone
 */
export async function contentOf(p: NotificationPlatform, held: HeldNotification): Promise<PreparedMessage> {
  const { templateData } = held;
  const rendition = hasStoredRendition(held) ? null : await render(p, held, templateData ?? {});
  const attachments = await Promise.all(
    held.attachments.map(({ fileId, fileName, contentType, isInline = false }) =>
      p.attachedFiles.readSize(p.sql, fileId).then((sizeBytes): MailAttachment => ({
        fileName,
        contentType,
        sizeBytes,
        contentId: isInline ? fileId : null,
        open: () => p.attachedFiles.open(p, fileId),
      }))
    ),
  );
  const texts = await textsOf(p, held, rendition);
  const prepared: PreparedMessage = { content: { ...texts, attachments }, rendition };
  const link = templateData?.[LINK_INSTEAD];
  if (attachments.length === 0 || link === undefined) return prepared;
  prepared.content.linked = async () => {
    // It also replaces the rendition, so that the stored text is the text that was sent.
    prepared.rendition = await render(p, held, { ...templateData, ...link as Record<string, unknown> });
    return { ...await textsOf(p, held, prepared.rendition), attachments: [] };
  };
  return prepared;
}

async function textsOf(
  p: NotificationPlatform,
  held: HeldNotification,
  rendition: Rendition | null,
): Promise<Pick<Content, "subject" | "html" | "text">> {
  const { subject, htmlBody: html, textBody } = rendition ?? held;
  const text = textBody ?? (html === null ? null : await textOf(p, held.tenantId, html));
  const texts = { subject, html, text };
  const isTemplated = held.channel === "Email" && held.templateSlug !== null;
  return isTemplated
    ? await inLayout(p, looksTenantOf(held), texts, rendition?.locale ?? held.locale)
    : texts;
}

/** The tenant in whose looks a mail is shown: its own, or the one that a mail of the service is about. */
export function looksTenantOf({ tenantId, isConfidential, templateData }: HeldNotification): string | null {
  const named = templateData?.[LOOKS_OF];
  return tenantId === null && isConfidential && typeof named === "string" ? named : tenantId;
}

/** True if an earlier run has rendered the template and stored the result. */
const hasStoredRendition = ({ templateVersion, isConfidential }: HeldNotification): boolean =>
  templateVersion !== null && !isConfidential;

async function render(
  p: NotificationPlatform,
  held: HeldNotification,
  data: Record<string, unknown>,
): Promise<Rendition | null> {
  const { templateSlug, templateVersionId: versionId, templatePins: pins } = held;
  if (templateSlug === null) return null;
  const rendered = versionId === null
    ? await renderTemplate(p, held.tenantId, { slug: templateSlug, locale: held.locale, data })
    : { templateSlug, ...await renderVersionById(p, held.tenantId, { versionId, pins }, data) };
  const hasOwnBody = !hasStoredRendition(held) && (held.htmlBody !== null || held.textBody !== null);
  return {
    ...rendered,
    subject: held.subject ?? rendered.subject,
    htmlBody: hasOwnBody ? held.htmlBody : rendered.htmlBody,
    textBody: hasOwnBody ? held.textBody : rendered.textBody,
  };
}
