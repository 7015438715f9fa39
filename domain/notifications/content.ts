import type { MailAttachment } from "../../infra/mail/mail.ts";
import { openFileContent, readFileState } from "../files/service_files.ts";
import type { Platform } from "../shared/platform.ts";
import type { HeldNotification } from "./delivery_ledger.ts";
import { renderTemplate, renderVersionById, type Rendition, textOf } from "./templates/render.ts";

/** What a message says on its way out. */
export interface Content {
  subject: string | null;
  html: string | null;
  /** Made from the HTML where the message has none. */
  text: string | null;
  attachments: MailAttachment[];
  /** Headers of a mail beyond those that follow from the message. */
  headers?: Record<string, string>;
  /** The same with a link in place of the attachments, for a mail server they are too large for. */
  linked?: () => Promise<Content>;
}

/** The member of a message's template data that, merged into it, has the template link to what would be attached. */
export const LINK_INSTEAD = "linkInstead";

/** A message ready to go out. */
export interface PreparedMessage {
  content: Content;
  /** What its template came to in this run; null where it has none, or was filled in before. */
  rendition: Rendition | null;
}

/**
 * What a message says: its own words, and where it has none those of its template, in the version it was accepted with.
 * A template is filled in once, at the first run, and what it came to is sent by every later one; a confidential one is
 * filled in anew, as it is not kept.
 * @throws Problem when the template cannot be filled in
 */
export async function contentOf(p: Platform, held: HeldNotification): Promise<PreparedMessage> {
  const { templateData } = held;
  const rendition = isFilledIn(held) ? null : await fillIn(p, held, templateData ?? {});
  const attachments = await Promise.all(
    held.attachments.map(({ fileId, fileName, contentType }) =>
      readFileState(p.sql, fileId).then((file): MailAttachment => ({
        ...{ fileName, contentType, sizeBytes: file?.sizeBytes ?? 0 },
        open: () => openFileContent(p, fileId),
      }))
    ),
  );
  const words = await wordsOf(p, held, rendition);
  const prepared: PreparedMessage = { content: { ...words, attachments }, rendition };
  const link = templateData?.[LINK_INSTEAD];
  if (attachments.length === 0 || link === undefined) return prepared;
  prepared.content.linked = async () => {
    // what is kept of the message is what was sent
    prepared.rendition = await fillIn(p, held, { ...templateData, ...link as Record<string, unknown> });
    return { ...await wordsOf(p, held, prepared.rendition), attachments: [] };
  };
  return prepared;
}

async function wordsOf(
  p: Platform,
  held: HeldNotification,
  rendition: Rendition | null,
): Promise<Pick<Content, "subject" | "html" | "text">> {
  const { subject, htmlBody: html, textBody } = rendition ?? held;
  const text = textBody ?? (html === null ? null : await textOf(p, held.tenantId, html));
  return { subject, html, text };
}

/** Did an earlier run keep what the template came to? */
const isFilledIn = ({ templateVersion, isConfidential }: HeldNotification): boolean =>
  templateVersion !== null && !isConfidential;

async function fillIn(
  p: Platform,
  held: HeldNotification,
  data: Record<string, unknown>,
): Promise<Rendition | null> {
  const { templateSlug, templateVersionId } = held;
  if (templateSlug === null) return null;
  const rendered = templateVersionId === null
    ? await renderTemplate(p, held.tenantId, { slug: templateSlug, locale: held.locale, data })
    : { templateSlug, ...await renderVersionById(p, held.tenantId, templateVersionId, data) };
  const hasOwnBody = !isFilledIn(held) && (held.htmlBody !== null || held.textBody !== null);
  return {
    ...rendered,
    subject: held.subject ?? rendered.subject,
    htmlBody: hasOwnBody ? held.htmlBody : rendered.htmlBody,
    textBody: hasOwnBody ? held.textBody : rendered.textBody,
  };
}
