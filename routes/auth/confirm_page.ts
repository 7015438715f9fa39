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
    title: "Confirme o seu novo email",
    incomplete: "Esta ligação está incompleta. Peça uma nova.",
    explanation: "A partir de agora, inicia sessão com o novo email. As suas outras sessões terminam.",
    confirm: "Confirmar o email",
    done: "Pronto. A partir de agora, inicie sessão com o novo email.",
  },
};

/** The page that confirms a new email. */
export const confirmPage = confirmationPage({
  texts: TEXTS,
  explained: ["EMAIL_TOKEN_INVALID", "USER_ALREADY_EXISTS"],
  action: "confirm-email",
});
