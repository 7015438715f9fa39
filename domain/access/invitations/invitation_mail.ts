import { LOOKS_OF } from "../../notifications/content.ts";
import type { PlainMail, TemplatedMail } from "../../notifications/sending/send.ts";
import { fullName } from "../../rights/user_lookup.ts";
import { newSecret } from "../../shared/secrets.ts";
import { readDefaultLocale } from "../../templates/locales.ts";
import { linkMail, linkUrl } from "../account/link_mail.ts";
import type { AccessPlatform } from "../platform.ts";

/** How long the link of an invitation works. */
export const LIFE_DAYS = 7;

/** Makes a token and the mail with its link, in the language of the tenant. */
export async function newInvitationMail(
  p: AccessPlatform,
  o: { tenantId: string; email: string; firstName: string; lastName: string },
): Promise<{ token: string; mail: TemplatedMail | PlainMail }> {
  const token = newSecret();
  const [tenant] = await p.sql<{ name: string }[]>`select name from tenants where id = ${o.tenantId}`;
  const data = {
    invitationUrl: linkUrl(p, { configured: p.config.INVITATION_URL, page: "/auth/invitation", token }),
    tenantName: tenant?.name ?? "",
    firstName: o.firstName || null,
    expiresInDays: LIFE_DAYS,
    [LOOKS_OF]: o.tenantId,
  };
  const to = { address: o.email, displayName: fullName(o) };
  const mail = await linkMail(p, to, {
    token,
    templateSlug: "invitation",
    locale: await readDefaultLocale(p.sql, o.tenantId),
    data,
    fallback: defaultText(data),
  });
  return { token, mail };
}

/** The built-in English text. */
const defaultText = (o: { invitationUrl: string; tenantName: string; firstName: string | null }) => ({
  subject: `Invitation to ${o.tenantName}`,
  textBody: `Hello${o.firstName ? ` ${o.firstName}` : ""},

You are invited to ${o.tenantName}. Accept with the link below; it works once and for ${LIFE_DAYS} days.

Accept the invitation:
${o.invitationUrl}

If you do not know why you got this, ignore this message: nothing happens.`,
});
