import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import type { NotificationPlatform } from "../../notifications/platform.ts";
import { sendServiceMail } from "../../notifications/sending/send.ts";
import { Problem } from "../../problems/problem.ts";
import { fullName } from "../../rights/user_lookup.ts";
import { localeForms, readDefaultLocale } from "../../templates/locales.ts";
import { OWNER_MAILS, type OwnerMailKind } from "./owner_mail_texts.ts";

/** The owner of an account, as mails address them. */
export interface MailOwner {
  email: string;
  firstName: string;
  lastName: string;
  /** Default language of the user's default tenant; null: the service's. */
  locale: string | null;
}

/** Reads whom to mail about an account; null if the user is deleted. */
export async function readMailOwner(q: Sql, userId: string): Promise<MailOwner | null> {
  const [user] = await q<(Omit<MailOwner, "locale"> & { tenantId: string | null })[]>`
    select email, first_name, last_name,
      (select tenant_id from user_tenants where user_id = u.id and is_default and is_active) as tenant_id
    from users u where id = ${userId} and deleted_at is null`;
  if (!user) return null;
  const { tenantId, ...names } = user;
  return { ...names, locale: await readDefaultLocale(q, tenantId) };
}

/**
 * Queues a mail that tells the owner of an account about a change to it, in the transaction of the change. Uses the
 * service's template `account-change`, or a plain text if the template cannot be used: a mistake in a template must not
 * prevent the change or hide it from the owner.
 * @param o.details a line below the text
 * @param o.address instead of the account's email, such as the one before a change.
 */
export async function mailOwner(
  p: NotificationPlatform,
  tx: Tx,
  o: { userId: string; kind: OwnerMailKind; details?: string; address?: string },
): Promise<void> {
  const owner = await readMailOwner(tx, o.userId);
  if (!owner) return;
  const { title, text: fixed } = OWNER_MAILS[o.kind][localeForms(owner.locale).includes("pt") ? "pt" : "en"];
  const text = o.details === undefined ? fixed : `${fixed} ${o.details}`;
  const to = { address: o.address ?? owner.email, displayName: fullName(owner), userId: o.userId };
  // No tenant owns the mail: users of a tenant may read the tenant's messages.
  const mail = { tenantId: null, to };
  const [{ at } = { at: null }] = await tx<{ at: Date }[]>`select now() as at`;
  const data = { kind: o.kind, title, text, firstName: owner.firstName || null, at };
  try {
    await sendServiceMail(p, tx, { ...mail, templateSlug: "account-change", locale: owner.locale, data });
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    p.log.warn("the template of a mail about an account could not be used; a plain text is sent", {
      templateSlug: "account-change",
      reason: failure.message,
    });
    await sendServiceMail(p, tx, { ...mail, subject: title, textBody: text });
  }
}
