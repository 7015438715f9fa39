import { escapeHtml } from "../operations/page.ts";
import { mailedPage } from "./mailed_page.ts";

const TEXTS = {
  en: {
    title: "Accept the invitation",
    incomplete: "This link is incomplete. Ask for a new invitation.",
    invited: "You ({email}) are invited to {tenant}.",
    New: "Choose a password for your new account: at least 12 characters.",
    Password: "You already have an account. Enter its password to join.",
    code: "Code of your authenticator app, or a recovery code",
    SignedIn:
      "Your account has no password: you sign in with another provider. Set a password with “Forgot password” on the sign-in page, then open this link again.",
    accept: "Accept",
    done: "Done. You can sign in now.",
    signIn: "Go to the sign-in page",
  },
  pt: {
    title: "Aceitar o convite",
    incomplete: "Este link está incompleto. Peça um novo convite.",
    invited: "Você foi convidado ({email}) para {tenant}.",
    New: "Escolha uma senha para sua nova conta: pelo menos 12 caracteres.",
    Password: "Você já tem uma conta. Digite a senha dela para aceitar.",
    code: "Código do aplicativo autenticador ou código de recuperação",
    SignedIn:
      "Sua conta não tem senha: entra com outro provedor. Defina uma com “Esqueci a senha” na página de login e abra este link de novo.",
    accept: "Aceitar",
    done: "Pronto. Já pode entrar.",
    signIn: "Ir para a página de login",
  },
};

/** A form that accepts the invitation. */
export const invitationPage = mailedPage({
  texts: TEXTS,
  explained: [
    "INVITATION_INVALID",
    "INVITATION_INVITER_FORBIDDEN",
    "TENANT_FORBIDDEN",
    "TENANT_CAPACITY_REACHED",
    "USER_ALREADY_ASSIGNED",
    "USER_ALREADY_EXISTS",
    "CREDENTIALS_INVALID_UNAUTHORIZED",
    "SECOND_FACTOR_INVALID_UNAUTHORIZED",
    "ACCOUNT_LOCKED_UNAUTHORIZED",
  ],
  body: (t) =>
    `<p id="invited"></p>
<p id="how"></p>
<form hidden>
<input name="username" type="email" autocomplete="username" hidden>
<p><label>${t.password}<br><input name="password" type="password" required></label></p>
<p id="again"><label>${t.repeated}<br><input name="repeated" type="password" autocomplete="new-password"></label></p>
<p id="second"><label>${t.code}<br><input name="code" autocomplete="one-time-code"></label></p>
<p><button name="button">${t.accept}</button></p>
</form>
<p id="next" hidden><a href="../console/">${escapeHtml(t.signIn)}</a></p>`,
  script: `
const form = document.querySelector("form");
let isNew = false;
async function show() {
  const offer = token && await send("invitations/read");
  if (!offer) return;
  wear(offer.looks);
  isNew = offer.account === "New";
  document.querySelector("#invited").textContent =
    texts.invited.replace("{email}", () => offer.email).replace("{tenant}", () => offer.tenantName);
  document.querySelector("#how").textContent = texts[offer.account];
  if (offer.account === "SignedIn") return;
  form.username.value = offer.email;
  form.password.autocomplete = isNew ? "new-password" : "current-password";
  document.querySelector("#again").hidden = !isNew;
  document.querySelector("#second").hidden = !offer.hasSecondFactor;
  form.code.required = offer.hasSecondFactor;
  form.hidden = false;
}
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const password = form.password.value;
  if (isNew && password !== form.repeated.value) { note.textContent = texts.differ; return; }
  form.button.disabled = true;
  const code = form.code.value.replaceAll(/\\s/g, "");
  const proof = code && { [/^\\d{6}$/.test(code) ? "code" : "recoveryCode"]: code };
  const accepted = await send("invitations/accept", { password, ...proof });
  form.button.disabled = false;
  if (!accepted) return;
  form.hidden = true;
  note.textContent = texts.done;
  document.querySelector("#next").hidden = false;
});
show();`,
});
