import type { Locale } from "../console/shared/languages.ts";

const en = {
  failed: "Sign-in failed",
  failedText: "The program that sent you here made a mistake. Go back and try again, or tell its operator:",
  allowTitle: (client: string) => `Allow ${client}?`,
  allowText: (client: string) => `${client} wants to use your account:`,
  you: (email: string, tenant: string | null) =>
    tenant === null ? `Signed in as ${email}` : `Signed in as ${email} in ${tenant}`,
  scopes: {
    openid: "Know who you are",
    profile: "Read your name",
    email: "Read your email address",
    offline_access: "Act for you while you are away",
    "steward.self": "Show and change your notifications, profile and sessions",
    "steward.files": "Use files with your permissions",
  } as Record<string, string>,
  ownScope: (scope: string) => `Use ${scope}`,
  allow: "Allow",
  deny: "Do not allow",
  otherUser: "Use another account",
  leaves: (host: string) => `You will return to ${host}.`,
  signOutTitle: "Sign out?",
  signOutText: (email: string) => `A program asks to sign you out. You are signed in as ${email}.`,
  signOut: "Sign out",
  stay: "Stay signed in",
  signedOut: "You are signed out",
  signedOutText: "You can close this page.",
  signIn: "Sign in",
};

/** Texts of the provider's pages. */
export const oauthTexts: Record<Locale, typeof en> = {
  en,
  pt: {
    failed: "Não foi possível entrar",
    failedText:
      "O programa que o enviou para cá cometeu um erro. Volte e tente de novo, ou avise o operador:",
    allowTitle: (client) => `Permitir ${client}?`,
    allowText: (client) => `${client} quer usar a sua conta:`,
    you: (email, tenant) => tenant === null ? `Sessão de ${email}` : `Sessão de ${email} em ${tenant}`,
    scopes: {
      openid: "Saber quem é",
      profile: "Ler seu nome",
      email: "Ler seu endereço de e-mail",
      offline_access: "Agir por você na sua ausência",
      "steward.self": "Mostrar e alterar suas notificações, seu perfil e suas sessões",
      "steward.files": "Usar arquivos com suas permissões",
    },
    ownScope: (scope) => `Usar ${scope}`,
    allow: "Permitir",
    deny: "Não permitir",
    otherUser: "Usar outra conta",
    leaves: (host) => `Vai voltar a ${host}.`,
    signOutTitle: "Sair?",
    signOutText: (email) => `Um programa pede para encerrar sua sessão. A sessão é de ${email}.`,
    signOut: "Sair",
    stay: "Manter a sessão",
    signedOut: "Sua sessão terminou",
    signedOutText: "Você pode fechar esta página.",
    signIn: "Entrar",
  },
};
