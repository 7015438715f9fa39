import { CATALOGUE, type ProblemCode } from "../../domain/problems/catalogue.ts";
import { escapeHtml, page } from "../operations/page.ts";
import { pagePolicy } from "./page_policy.ts";

const TEXTS = {
  en: {
    title: "Accept the invitation",
    incomplete: "This link is incomplete. Ask for a new invitation.",
    invited: "You ({email}) are invited to {tenant}.",
    New: "Choose a password for your new account: at least 12 characters.",
    Password: "You already have an account. Enter its password to join.",
    SignedIn:
      "Your account has no password: you sign in with another provider. Set a password with “Forgot password” on the sign-in page, then open this link again.",
    password: "Password",
    repeated: "Once more",
    accept: "Accept",
    differ: "The two passwords differ.",
    done: "Done. You can sign in now.",
    signIn: "Go to the sign-in page",
    unreachable: "The service could not be reached. Try again.",
  },
  pt: {
    title: "Aceitar o convite",
    incomplete: "Esta ligação está incompleta. Peça um novo convite.",
    invited: "Foi convidado ({email}) para {tenant}.",
    New: "Escolha uma palavra-passe para a sua nova conta: pelo menos 12 caracteres.",
    Password: "Já tem uma conta. Introduza a palavra-passe dela para aceitar.",
    SignedIn:
      "A sua conta não tem palavra-passe: inicia sessão com outro fornecedor. Defina uma com “Esqueci-me da palavra-passe” na página de início de sessão e abra de novo esta ligação.",
    password: "Palavra-passe",
    repeated: "Repita-a",
    accept: "Aceitar",
    differ: "As duas palavras-passe são diferentes.",
    done: "Pronto. Já pode iniciar sessão.",
    signIn: "Ir para a página de início de sessão",
    unreachable: "Não foi possível contactar o serviço. Tente de novo.",
  },
};

/** Refusals that the page explains in its language. Others show the answer's own text. */
const EXPLAINED = [
  "INVITATION_INVALID",
  "TENANT_FORBIDDEN",
  "TENANT_CAPACITY_REACHED",
  "USER_ALREADY_ASSIGNED",
  "USER_ALREADY_EXISTS",
  "CREDENTIALS_INVALID_UNAUTHORIZED",
  "ACCOUNT_LOCKED_UNAUTHORIZED",
] as const satisfies ProblemCode[];

const SCRIPT = `
const { texts, refusals } = JSON.parse(document.querySelector("#texts").textContent);
const form = document.querySelector("form"), note = document.querySelector("output");
const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
history.replaceState(null, "", location.pathname);
async function send(path, body) {
  try {
    const answer = await fetch("invitations/" + path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, ...body }),
    });
    const value = await answer.json();
    if (answer.ok) return value;
    note.textContent = refusals[value.code] ?? value.errors?.join(" ") ?? value.detail;
  } catch { note.textContent = texts.unreachable; }
  return null;
}
let isNew = false;
async function show() {
  if (!token) { note.textContent = texts.incomplete; return; }
  const offer = await send("read", {});
  if (!offer) return;
  isNew = offer.account === "New";
  document.querySelector("#invited").textContent =
    texts.invited.replace("{email}", () => offer.email).replace("{tenant}", () => offer.tenantName);
  document.querySelector("#how").textContent = texts[offer.account];
  if (offer.account === "SignedIn") return;
  form.username.value = offer.email;
  form.password.autocomplete = isNew ? "new-password" : "current-password";
  document.querySelector("#again").hidden = !isNew;
  form.hidden = false;
}
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const password = form.password.value;
  if (isNew && password !== form.repeated.value) { note.textContent = texts.differ; return; }
  form.button.disabled = true;
  const accepted = await send("accept", { password });
  form.button.disabled = false;
  if (!accepted) return;
  form.hidden = true;
  note.textContent = texts.done;
  document.querySelector("#next").hidden = false;
});
show();`;

export const INVITATION_PAGE_POLICY = pagePolicy(SCRIPT);

/** A form that accepts the invitation of the token in the URL fragment. */
export function invitationPage(language: "en" | "pt"): string {
  const t = TEXTS[language];
  const refusals = Object.fromEntries(EXPLAINED.map((code) => [code, CATALOGUE[code].user[language]]));
  const texts = JSON.stringify({ texts: t, refusals }).replaceAll("<", "\\u003c");
  return page(
    t.title,
    `<h1>${escapeHtml(t.title)}</h1>
<p id="invited"></p>
<p id="how"></p>
<form hidden>
<input name="username" type="email" autocomplete="username" hidden>
<p><label>${t.password}<br><input name="password" type="password" required></label></p>
<p id="again"><label>${t.repeated}<br><input name="repeated" type="password" autocomplete="new-password"></label></p>
<p><button name="button">${t.accept}</button></p>
</form>
<p><output></output></p>
<p id="next" hidden><a href="../console/">${t.signIn}</a></p>
<script type="application/json" id="texts">${texts}</script>
<script>${SCRIPT}</script>`,
    language,
  );
}
