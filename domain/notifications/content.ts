import type { MailAttachment } from "../../infra/mail/mail.ts";
import { openFileContent } from "../files/service_files.ts";
import type { Platform } from "../shared/platform.ts";
import type { HeldNotification } from "./delivery_ledger.ts";
import { htmlToText } from "./rendering/mod.ts";
import { renderTemplate, type Rendition } from "./templates/render.ts";

/** What a message says on its way out. */
export interface Content {
  subject: string | null;
  html: string | null;
  /** Made from the HTML where the message has none. */
  text: string | null;
  attachments: MailAttachment[];
  /** Headers of a mail beyond those that follow from the message. */
  headers?: Record<string, string>;
}

/**
 * What a message says: its own words, and the template's where it has none. A template is filled in once, at the
 * first run, and what it came to is sent by every later one; a confidential one is filled in anew, as it is not kept.
 * @throws Problem when the template is gone or cannot be filled in
 */
export async function contentOf(
  p: Platform,
  held: HeldNotification,
): Promise<{ content: Content; rendition: Rendition | null }> {
  const rendition = await renditionOf(p, held);
  const html = rendition ? rendition.htmlBody : held.htmlBody;
  const text = rendition ? rendition.textBody : held.textBody;
  const content = {
    subject: rendition ? rendition.subject : held.subject,
    html,
    text: text ?? (html === null ? null : htmlToText(html)),
    // sizes are known when the files are opened; no transport asks for them before
    attachments: held.attachments.map(({ fileId, fileName, contentType }) => ({
      ...{ fileName, contentType, sizeBytes: 0 },
      open: () => openFileContent(p, fileId),
    })),
  };
  return { content, rendition };
}

async function renditionOf(p: Platform, held: HeldNotification): Promise<Rendition | null> {
  const { templateSlug, templateVersion } = held;
  if (templateSlug === null || (templateVersion !== null && !held.isConfidential)) return null;
  const rendered = await renderTemplate(p.sql, held.tenantId, {
    slug: templateSlug,
    locale: held.locale,
    data: held.templateData ?? {},
  });
  const hasOwnBody = held.htmlBody !== null || held.textBody !== null;
  return {
    ...rendered,
    subject: held.subject ?? rendered.subject,
    htmlBody: hasOwnBody ? held.htmlBody : rendered.htmlBody,
    textBody: hasOwnBody ? held.textBody : rendered.textBody,
  };
}
