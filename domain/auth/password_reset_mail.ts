import type { PlainMail, TemplatedMail } from "../notifications/send.ts";
import { renderTemplate } from "../notifications/templates/render.ts";
import { Problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";

/** What a reset mail tells its reader. */
export interface ResetLink {
  resetUrl: string;
  firstName: string | null;
  expiresInMinutes: number;
}

/**
 * The mail that carries a reset link. It is made of the service's template `password-reset`. Where that template is
 * missing, cannot be rendered or leaves the link out, the mail has a fixed text, since the user would otherwise wait
 * for a mail that never comes.
 */
export async function passwordResetMail(
  p: Pick<Platform, "sql" | "renderThreads" | "log">,
  to: TemplatedMail["to"],
  { token, ...link }: ResetLink & { token: string },
): Promise<TemplatedMail | PlainMail> {
  // a tenant's staff may read its messages, and this one is a key to the account
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

/** Why the template does not give a mail with the link; null: it does. */
async function templateMistake(
  p: Pick<Platform, "sql" | "renderThreads">,
  { templateSlug, locale, data }: Pick<TemplatedMail, "templateSlug" | "locale" | "data">,
  token: string,
): Promise<string | null> {
  try {
    const { textBody, htmlBody } = await renderTemplate(p, null, { slug: templateSlug, locale, data });
    const hasLink = [textBody, htmlBody].some((body) => body?.includes(token));
    return hasLink ? null : "the rendered mail does not hold the link";
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

/** The English text that the service ships. */
const defaultText = ({ resetUrl, firstName, expiresInMinutes }: ResetLink) => ({
  subject: "Reset your password",
  textBody: `Hello${firstName ? ` ${firstName}` : ""},

Someone, probably you, asked for a new password for your account. Choose one with the link below; the link works once and for ${expiresInMinutes} minutes.

Choose a new password:
${resetUrl}

If you did not ask for this, ignore this message: your password stays as it is.`,
});
