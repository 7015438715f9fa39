import { logoUrl } from "../looks/logo_url.ts";
import { readPageLooks } from "../looks/looks.ts";
import { isWholeDocument, mailDocument } from "../looks/mail_document.ts";
import type { Platform } from "../shared/platform.ts";
import type { TemplateSource } from "./language/mod.ts";

/** The texts of a mail. */
interface MailTexts {
  subject: string | null;
  html: string | null;
  text: string | null;
}

/**
 * Puts the texts of a mail into the tenant's looks. HTML that is not a whole document is put into the default layout, and
 * the footer is added to the text. A mail whose HTML is a whole document stays unchanged.
 */
export async function inLayout<T extends MailTexts>(
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
export async function looksFor(
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
