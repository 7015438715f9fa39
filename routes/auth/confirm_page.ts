import { confirmationPage } from "./mailed_page.ts";

const TEXTS = {
  en: {
    title: "Confirm your new email",
    incomplete: "This link is incomplete. Request a new one.",
    explanation: "From now on, you sign in with the new email. Your other sessions end.",
    confirm: "Confirm the email",
    done: "Done. Sign in with the new email from now on.",
  },
  pt: {
    title: "Confirme seu novo e-mail",
    incomplete: "Este link está incompleto. Peça um novo.",
    explanation: "A partir de agora, entra com o novo e-mail. Suas outras sessões terminam.",
    confirm: "Confirmar o e-mail",
    done: "Pronto. A partir de agora, entre com o novo e-mail.",
  },
};

/** The page that confirms a new email. */
export const confirmPage = confirmationPage({
  texts: TEXTS,
  explained: ["EMAIL_TOKEN_INVALID", "USER_ALREADY_EXISTS"],
  action: "confirm-email",
  looksFrom: "confirm-email/looks",
});
