import type { NotificationPlatform } from "../../notifications/platform.ts";
import type { PlainMail, TemplatedMail } from "../../notifications/sending/send.ts";
import { linkMail } from "./link_mail.ts";

/** Data of a reset mail. */
export interface ResetLink {
  resetUrl: string;
  firstName: string | null;
  expiresInMinutes: number;
}

/** Builds the mail with a reset link from the service's template `password-reset`, or from a default text. */
export const passwordResetMail = (
  p: Pick<NotificationPlatform, "sql" | "renderThreads" | "config" | "baseUrl" | "log">,
  to: TemplatedMail["to"],
  { token, ...link }: ResetLink & { token: string },
): Promise<TemplatedMail | PlainMail> =>
  linkMail(p, to, {
    token,
    templateSlug: "password-reset",
    locale: null,
    data: { ...link },
    fallback: defaultText(link),
  });

/** The built-in English text. */
const defaultText = ({ resetUrl, firstName, expiresInMinutes }: ResetLink) => ({
  subject: "Reset your password",
  textBody: `Hello${firstName ? ` ${firstName}` : ""},

Someone, probably you, asked for a new password for your account. Choose one with the link below; the link works once and for ${expiresInMinutes} minutes.

Choose a new password:
${resetUrl}

If you did not ask for this, ignore this message: your password stays as it is.`,
});
