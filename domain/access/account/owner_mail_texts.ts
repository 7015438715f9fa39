/** What a mail to the owner of an account says. */
interface MailText {
  title: string;
  text: string;
}

/** The mails about changes to an account, by kind and language. A further kind needs only an entry here. */
export const OWNER_MAILS = {
  "password-changed": {
    en: {
      title: "Your password was changed",
      text: "The password of your account was changed. Your other sessions were ended.",
    },
    pt: {
      title: "A sua palavra-passe foi alterada",
      text: "A palavra-passe da sua conta foi alterada. As suas outras sessões foram terminadas.",
    },
  },
  "password-reset": {
    en: {
      title: "Your password was reset",
      text: "A new password was set with a link from a mail to this address. All your sessions were ended.",
    },
    pt: {
      title: "A sua palavra-passe foi reposta",
      text:
        "Foi definida uma nova palavra-passe com uma ligação de um email para este endereço. Todas as suas sessões foram terminadas.",
    },
  },
  "email-change-requested": {
    en: {
      title: "A new email was requested",
      text:
        "Someone with your password asked to change the email of your account. A link was sent to the new address.",
    },
    pt: {
      title: "Foi pedido um novo email",
      text:
        "Alguém com a sua palavra-passe pediu para mudar o email da sua conta. Foi enviada uma ligação para o novo endereço.",
    },
  },
  "email-changed": {
    en: {
      title: "Your email was changed",
      text:
        "Your account has a new email. You sign in with the new one from now on. This address gets no more mail.",
    },
    pt: {
      title: "O seu email foi alterado",
      text:
        "A sua conta tem um novo email. A partir de agora inicia sessão com o novo. Este endereço não recebe mais mensagens.",
    },
  },
  "email-taken": {
    en: {
      title: "This email already belongs to your account",
      text:
        "Someone asked to use this address as the email of another account. It already belongs to your account, so nothing changed.",
    },
    pt: {
      title: "Este email já pertence à sua conta",
      text:
        "Alguém pediu para usar este endereço como email de outra conta. Já pertence à sua conta, por isso nada mudou.",
    },
  },
} satisfies Record<string, { en: MailText; pt: MailText }>;

export type OwnerMailKind = keyof typeof OWNER_MAILS;
