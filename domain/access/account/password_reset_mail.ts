import type { NotificationPlatform } from "../../notifications/platform.ts";
import type { PlainMail, TemplatedMail } from "../../notifications/send.ts";
import { renderTemplate } from "../../notifications/templates/render.ts";
import { Problem } from "../../problems/problem.ts";

/** Data of a reset mail. */
export interface ResetLink {
  resetUrl: string;
  firstName: string | null;
  expiresInMinutes: number;
}

/**
 * Builds the mail with a reset link from the service's template `password-reset`. If the template is missing, cannot be
 * rendered or omits the link, uses a default text instead, so that the user always gets a mail with the link.
 */
export async function passwordResetMail(
  p: Pick<NotificationPlatform, "sql" | "renderThreads" | "log">,
  to: TemplatedMail["to"],
  { token, ...link }: ResetLink & { token: string },
): Promise<TemplatedMail | PlainMail> {
  // Users of a tenant may read the tenant's messages. The link gives access to the account, so no tenant owns this one.
  const mail = { tenantId: null, to };
  const template = { templateSlug: "password-reset", locale: null, data: { ...link } };
  const mistake = await templateMistake(p, template, token);
  if (mistake === null) return { ...mail, ...template };
  p.log.warn("the template of a password reset mail could not be used; the default text is sent", {
    templateSlug: template.templateSlug,
    reason: mistake,
  });
  return { ...mail, ...defaultText(link) };
}

/** Why the template cannot produce a mail with the link; null if it can. */
async function templateMistake(
  p: Pick<NotificationPlatform, "sql" | "renderThreads">,
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

/** The built-in English text. */
const defaultText = ({ resetUrl, firstName, expiresInMinutes }: ResetLink) => ({
  subject: "Reset your password",
  textBody: `Hello${firstName ? ` ${firstName}` : ""},

Someone, probably you, asked for a new password for your account. Choose one with the link below; the link works once and for ${expiresInMinutes} minutes.

Choose a new password:
${resetUrl}

If you did not ask for this, ignore this message: your password stays as it is.`,
});
