import { escapeHtml } from "../operations/page.ts";
import { mailedPage } from "./mailed_page.ts";

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

/** A button that confirms the email: mail filters open links, and a visit alone must change nothing. */
export const confirmPage = mailedPage({
  texts: TEXTS,
  explained: ["EMAIL_TOKEN_INVALID", "USER_ALREADY_EXISTS"],
  body: (t) =>
    `<p>${escapeHtml(t.explanation)}</p>
<p><button type="button">${escapeHtml(t.confirm)}</button></p>`,
  script: `
const button = document.querySelector("button");
button.hidden = !token;
button.addEventListener("click", async () => {
  button.disabled = true;
  const confirmed = await send("confirm-email");
  button.disabled = false;
  if (!confirmed) return;
  button.hidden = true;
  note.textContent = texts.done;
});`,
});
