import { PASSWORD_LENGTH } from "../../domain/access/passwords/password_rules.ts";
import { escapeHtml } from "../operations/page.ts";
import { mailedPage } from "./mailed_page.ts";

const TEXTS = {
  en: {
    title: "Set a new password",
    incomplete: "This link is incomplete. Ask for a new one.",
    explanation: `At least ${PASSWORD_LENGTH.min} characters. All your sessions end.`,
    set: "Set password",
    done: "Done. Sign in with the new password.",
  },
  pt: {
    title: "Definir uma nova senha",
    incomplete: "Este link está incompleto. Peça um novo.",
    explanation: `Pelo menos ${PASSWORD_LENGTH.min} caracteres. Todas as suas sessões terminam.`,
    set: "Definir a senha",
    done: "Pronto. Entre com a nova senha.",
  },
};

/** A form that sets a new password. */
export const resetPage = mailedPage({
  texts: TEXTS,
  explained: ["RESET_TOKEN_INVALID"],
  looksFrom: "reset-password/looks",
  body: (t) =>
    `<form>
<p>${escapeHtml(t.explanation)}</p>
<p><label>${t.newPassword}<br><input name="password" type="password" minlength="${PASSWORD_LENGTH.min}" required
 autocomplete="new-password"></label></p>
<p><label>${t.repeated}<br><input name="repeated" type="password" required autocomplete="new-password"></label></p>
<p><button name="button">${t.set}</button></p>
</form>`,
  script: `
const form = document.querySelector("form");
form.hidden = !token;
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const newPassword = form.password.value;
  if (newPassword !== form.repeated.value) { note.textContent = texts.differ; return; }
  form.button.disabled = true;
  const changed = await send("reset-password", { newPassword });
  form.button.disabled = false;
  if (!changed) return;
  form.hidden = true;
  note.textContent = texts.done;
});`,
});
