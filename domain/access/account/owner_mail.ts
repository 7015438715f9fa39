import type { Sql, Tx } from "../../../infra/postgres/postgres.ts";
import { LOOKS_OF } from "../../notifications/content.ts";
import type { NotificationPlatform } from "../../notifications/platform.ts";
import { type PlainMail, sendServiceMail, type TemplatedMail } from "../../notifications/sending/send.ts";
import { Problem } from "../../problems/problem.ts";
import { fullName } from "../../rights/user_lookup.ts";
import { newSecret } from "../../shared/secrets.ts";
import { defaultTenantOf } from "../sign_in/sessions.ts";
import { localeForms, readDefaultLocale } from "../../templates/locales.ts";
import { renderTemplate } from "../../templates/render.ts";

/** The owner of an account, as mails address them. */
interface MailOwner {
  email: string;
  firstName: string;
  lastName: string;
  /** The tenant that the user signs in to, whose looks and language the mails have; null: none. */
  tenantId: string | null;
}

/** Reads whom to mail about an account; null if the user is deleted. */
export async function readMailOwner(q: Sql, userId: string): Promise<MailOwner | null> {
  const [user] = await q<Pick<MailOwner, "email" | "firstName" | "lastName">[]>`
    select email, first_name, last_name from users where id = ${userId} and deleted_at is null`;
  return user ? { ...user, tenantId: await defaultTenantOf(q, userId) } : null;
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
  const locale = await readDefaultLocale(tx, owner.tenantId);
  const { title, text: fixed } = OWNER_MAILS[o.kind][localeForms(locale).includes("pt") ? "pt" : "en"];
  const text = o.details === undefined ? fixed : `${fixed} ${o.details}`;
  const to = { address: o.address ?? owner.email, displayName: fullName(owner), userId: o.userId };
  // No tenant owns the mail: users of a tenant may read the tenant's messages.
  const mail = { tenantId: null, to };
  const [{ at } = { at: null }] = await tx<{ at: Date }[]>`select now() as at`;
  const data = {
    kind: o.kind,
    title,
    text,
    firstName: owner.firstName || null,
    at,
    [LOOKS_OF]: owner.tenantId,
  };
  try {
    await sendServiceMail(p, tx, { ...mail, templateSlug: "account-change", locale, data });
  } catch (failure) {
    if (!(failure instanceof Problem)) throw failure;
    p.log.warn("the template of a mail about an account could not be used; a plain text is sent", {
      templateSlug: "account-change",
      reason: failure.message,
    });
    await sendServiceMail(p, tx, { ...mail, subject: title, textBody: text });
  }
}

interface MailText {
  title: string;
  text: string;
}

/** The mails about changes to an account, by kind and language. A further kind needs only an entry here. */
export const OWNER_MAILS = {
  "act-as-requested": {
    en: {
      title: "Somebody asks to act with your account",
      text:
        "An administrator asks to act as you for a limited time. Allow or refuse it on the page of your account.",
    },
    pt: {
      title: "Alguém pede para agir com a sua conta",
      text:
        "Um administrador pede para agir em seu nome por tempo limitado. Permita ou recuse na página da sua conta.",
    },
  },
  "act-as-opened": {
    en: {
      title: "An administrator acts with your account",
      text:
        "An administrator acts as you for a limited time. The page of your account shows it, and you can end it there. Your password, second factors and email cannot be changed.",
    },
    pt: {
      title: "Um administrador age com a sua conta",
      text:
        "Um administrador age em seu nome por tempo limitado. A página da sua conta mostra isso, e você pode encerrar o acesso lá. A sua senha, os segundos fatores e o e-mail não podem ser alterados.",
    },
  },
  "password-changed": {
    en: {
      title: "Your password was changed",
      text: "The password of your account was changed. Your other sessions were ended.",
    },
    pt: {
      title: "Sua senha foi alterada",
      text: "A senha da sua conta foi alterada. Suas outras sessões foram encerradas.",
    },
  },
  "password-reset": {
    en: {
      title: "Your password was reset",
      text: "A new password was set with a link from a mail to this address. All your sessions were ended.",
    },
    pt: {
      title: "Sua senha foi redefinida",
      text:
        "Foi definida uma nova senha com um link de um e-mail para este endereço. Todas as suas sessões foram encerradas.",
    },
  },
  "password-removed": {
    en: {
      title: "The password of your account was removed",
      text:
        "You proved for the first time that this address is yours. Somebody else may have chosen the password of your account, so it was removed, with all second factors and passkeys. All earlier sessions were ended. You can set a new password with “Forgot password”. Please check the API keys of your account.",
    },
    pt: {
      title: "A senha da sua conta foi removida",
      text:
        "Você provou pela primeira vez que este endereço é seu. Outra pessoa pode ter escolhido a senha da sua conta, por isso ela foi removida, com todos os segundos fatores e chaves de acesso. Todas as sessões anteriores foram encerradas. Você pode definir uma nova senha com “Esqueci minha senha”. Verifique as chaves de API da sua conta.",
    },
  },
  "former-access-removed": {
    en: {
      title: "Earlier access to your account was removed",
      text:
        "You proved for the first time that this address is yours. Somebody else may have used your account before, so its second factors, passkeys and devices, and the programs that it allowed, were removed. All earlier sessions were ended. Please check the API keys of your account.",
    },
    pt: {
      title: "O acesso anterior à sua conta foi removido",
      text:
        "Você provou pela primeira vez que este endereço é seu. Outra pessoa pode ter usado sua conta antes, por isso os segundos fatores, as chaves de acesso e os dispositivos dela, e os programas permitidos, foram removidos. Todas as sessões anteriores foram encerradas. Verifique as chaves de API da sua conta.",
    },
  },
  "email-change-requested": {
    en: {
      title: "A new email was requested",
      text:
        "Someone with your password asked to change the email of your account. A link was sent to the new address.",
    },
    pt: {
      title: "Um novo e-mail foi solicitado",
      text:
        "Alguém com sua senha pediu para mudar o e-mail da sua conta. Um link foi enviado para o novo endereço.",
    },
  },
  "email-changed": {
    en: {
      title: "Your email was changed",
      text:
        "Your account has a new email. You sign in with the new one from now on. This address gets no more mail.",
    },
    pt: {
      title: "Seu e-mail foi alterado",
      text:
        "Sua conta tem um novo e-mail. A partir de agora, você entra com o novo. Este endereço não recebe mais mensagens.",
    },
  },
  "email-taken": {
    en: {
      title: "This email already belongs to your account",
      text:
        "Someone asked to use this address as the email of another account. It already belongs to your account, so nothing changed.",
    },
    pt: {
      title: "Este e-mail já pertence à sua conta",
      text:
        "Alguém pediu para usar este endereço como e-mail de outra conta. Já pertence à sua conta, por isso nada mudou.",
    },
  },
  "registration-known": {
    en: {
      title: "You already have an account",
      text:
        "Someone, probably you, asked to create an account with this address. You already have one, so nothing changed. Sign in with it; if you do not know its password, choose “Forgot password” on the sign-in page.",
    },
    pt: {
      title: "Você já tem uma conta",
      text:
        "Alguém, provavelmente você, pediu para criar uma conta com este endereço. Você já tem uma, por isso nada mudou. Entre com ela; se não souber a senha, escolha “Esqueci minha senha” na página de login.",
    },
  },
  "factor-added": {
    en: {
      title: "A second factor was added",
      text:
        "An authenticator app or a passkey was added to your account. From now on it is needed to sign in.",
    },
    pt: {
      title: "Um segundo fator foi adicionado",
      text:
        "Um aplicativo de autenticação ou uma chave de acesso foi adicionado à sua conta. A partir de agora, ele é necessário para entrar.",
    },
  },
  "factor-removed": {
    en: {
      title: "A second factor was removed",
      text: "An authenticator app or a passkey was removed from your account.",
    },
    pt: {
      title: "Um segundo fator foi removido",
      text: "Um aplicativo de autenticação ou uma chave de acesso foi removido da sua conta.",
    },
  },
  "factors-removed": {
    en: {
      title: "Your second factors were removed",
      text:
        "An administrator removed all second factors and recovery codes of your account. All your sessions were ended.",
    },
    pt: {
      title: "Seus segundos fatores foram removidos",
      text:
        "Um administrador removeu todos os segundos fatores e códigos de recuperação da sua conta. Todas as suas sessões foram encerradas.",
    },
  },
  "recovery-codes-renewed": {
    en: {
      title: "You have new recovery codes",
      text: "New recovery codes were made for your account. The old ones no longer work.",
    },
    pt: {
      title: "Você tem novos códigos de recuperação",
      text: "Novos códigos de recuperação foram criados para sua conta. Os antigos deixaram de funcionar.",
    },
  },
} satisfies Record<string, { en: MailText; pt: MailText }>;

export type OwnerMailKind = keyof typeof OWNER_MAILS;

/** A mail with a link that the service makes for one person. */
interface LinkMail {
  to: TemplatedMail["to"];
  /** The tenant whose looks and language the mail has; null: the service's own. */
  tenantId: string | null;
  templateSlug: string;
  /** The link: the name of its URL in the data, the path of the service's page, and the configured URL with `{token}`. */
  link: { name: string; page: string; configured?: string | null };
  /** The further data of the template. */
  data: { firstName?: string | null; [name: string]: unknown };
  /** The words to send if the template cannot be used: before the link, on it, and after it. */
  fallback: { subject: string; before: string; action: string; after: string };
}

/**
 * Makes a token and a mail with its link from a template of the service. If the template is missing, cannot be rendered or
 * omits the link, uses the fallback, so that the person always gets a mail with the link. The service's page gets the token
 * in the fragment, which appears in no server log and no Referer header.
 */
export async function linkMail(
  p: Pick<NotificationPlatform, "sql" | "renderThreads" | "config" | "baseUrl" | "log">,
  { to, tenantId, templateSlug, link, data, fallback }: LinkMail,
): Promise<{ token: string; mail: TemplatedMail | PlainMail }> {
  const token = newSecret();
  const url = (link.configured ?? `${p.baseUrl()}${link.page}#token={token}`).replaceAll("{token}", token);
  const template = {
    templateSlug,
    locale: await readDefaultLocale(p.sql, tenantId),
    data: { ...data, [link.name]: url, [LOOKS_OF]: tenantId },
  };
  // No tenant owns the mail, and no tenant's template is used: the link gives access to an account, and the users of a
  // tenant may read its messages and write its templates.
  const mail = { tenantId: null, to };
  const mistake = await templateMistake(p, template, token);
  if (mistake === null) return { token, mail: { ...mail, ...template } };
  p.log.warn("the template of a mail with a link could not be used; the default text is sent", {
    templateSlug,
    reason: mistake,
  });
  const { subject, before, action, after } = fallback;
  const greeting = `Hello${data.firstName ? ` ${data.firstName}` : ""},`;
  const textBody = [greeting, before, `${action}:\n${url}`, after].join("\n\n");
  return { token, mail: { ...mail, subject, textBody } };
}

/** The reason why the template cannot produce a mail with the link; null if it can. */
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
