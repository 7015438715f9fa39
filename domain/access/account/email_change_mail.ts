import type { PlainMail, TemplatedMail } from "../../notifications/sending/send.ts";
import { fullName } from "../../rights/user_lookup.ts";
import type { AccessPlatform } from "../platform.ts";
import { linkMail, linkUrl } from "./link_mail.ts";
import type { MailOwner } from "./owner_mail.ts";

/** How long the link works. */
export const LIFE_MINUTES = 30;

/** Builds the mail to the new email of a user, with the link that confirms it. */
export async function emailChangeMail(
  p: AccessPlatform,
  owner: MailOwner,
  { userId, newEmail, token }: { userId: string; newEmail: string; token: string },
): Promise<TemplatedMail | PlainMail> {
  const confirmUrl = linkUrl(p, { configured: null, page: "/auth/confirm-email", token });
  const firstName = owner.firstName || null;
  // With the user's id, an erasure finds this address even if it is never confirmed.
  const to = { address: newEmail, displayName: fullName(owner), userId };
  return await linkMail(p, to, {
    token,
    templateSlug: "email-change",
    locale: owner.locale,
    data: { confirmUrl, newEmail, firstName, expiresInMinutes: LIFE_MINUTES },
    fallback: defaultText({ confirmUrl, newEmail, firstName }),
  });
}

/** The built-in English text. */
const defaultText = (o: { confirmUrl: string; newEmail: string; firstName: string | null }) => ({
  subject: "Confirm your new email",
  textBody: `Hello${o.firstName ? ` ${o.firstName}` : ""},

Someone, probably you, asked to use ${o.newEmail} as the email of an account. Confirm it with the link below; it works once and for ${LIFE_MINUTES} minutes.

Confirm the email:
${o.confirmUrl}

If you did not ask for this, ignore this message: nothing changes.`,
});
