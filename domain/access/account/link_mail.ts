import type { NotificationPlatform } from "../../notifications/platform.ts";
import type { PlainMail, TemplatedMail } from "../../notifications/sending/send.ts";
import { Problem } from "../../problems/problem.ts";
import { renderTemplate } from "../../templates/render.ts";

/** A mail with a link that contains a token. */
export interface LinkMail extends Pick<TemplatedMail, "templateSlug" | "locale" | "data"> {
  /** The token, which the rendered mail must contain. */
  token: string;
  /** Text to send if the template cannot be used. */
  fallback: Pick<PlainMail, "subject" | "textBody">;
}

/**
 * The URL of a link: the configured one, or a page of the service. That page gets the token in the fragment, which
 * appears in no server log and no Referer header.
 * @param o.configured a URL with `{token}`; null: none
 * @param o.page path of the service's page
 */
export const linkUrl = (
  { baseUrl }: Pick<NotificationPlatform, "baseUrl">,
  o: { configured: string | null; page: string; token: string },
): string => (o.configured ?? `${baseUrl()}${o.page}#token={token}`).replaceAll("{token}", o.token);

/**
 * Builds a mail with a link from a template of the service. If the template is missing, cannot be rendered or omits the
 * link, uses the fallback, so that the person always gets a mail with the link.
 */
export async function linkMail(
  p: Pick<NotificationPlatform, "sql" | "renderThreads" | "config" | "baseUrl" | "log">,
  to: TemplatedMail["to"],
  { token, fallback, ...template }: LinkMail,
): Promise<TemplatedMail | PlainMail> {
  // No tenant owns the mail, and no tenant's template is used: the link gives access to an account, and the users of a
  // tenant may read its messages and write its templates.
  const mail = { tenantId: null, to };
  const mistake = await templateMistake(p, template, token);
  if (mistake === null) return { ...mail, ...template };
  p.log.warn("the template of a mail with a link could not be used; the default text is sent", {
    templateSlug: template.templateSlug,
    reason: mistake,
  });
  return { ...mail, ...fallback };
}

/** Why the template cannot produce a mail with the link; null if it can. */
async function templateMistake(
  p: Pick<NotificationPlatform, "sql" | "renderThreads" | "config" | "baseUrl">,
  { templateSlug, locale, data }: Pick<TemplatedMail, "templateSlug" | "locale" | "data">,
  token: string,
): Promise<string | null> {
  try {
    const { textBody, htmlBody } = await renderTemplate(p, null, { slug: templateSlug, locale, data });
    const hasLink = [textBody, htmlBody].some((body) => body?.includes(token));
    return hasLink ? null : "the rendered mail does not contain the link";
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}
