import { CATALOGUE, type ProblemCode } from "../../domain/problems/catalogue.ts";
import { escapeHtml, page } from "../operations/page.ts";
import { pagePolicy } from "./page_policy.ts";

const TEXTS = {
  en: {
    title: "Confirm your new email",
    incomplete: "This link is incomplete. Request a new one.",
    explanation: "From now on, you sign in with the new email. Your other sessions end.",
    confirm: "Confirm the email",
    done: "Done. Sign in with the new email from now on.",
    unreachable: "The service could not be reached. Try again.",
  },
  pt: {
    title: "Confirme o seu novo email",
    incomplete: "Esta ligação está incompleta. Peça uma nova.",
    explanation: "A partir de agora, inicia sessão com o novo email. As suas outras sessões terminam.",
    confirm: "Confirmar o email",
    done: "Pronto. A partir de agora, inicie sessão com o novo email.",
    unreachable: "Não foi possível contactar o serviço. Tente de novo.",
  },
};

/** Refusals that the page explains in its language. */
const EXPLAINED = ["EMAIL_TOKEN_INVALID", "USER_ALREADY_EXISTS"] as const satisfies ProblemCode[];

// A button, because mail filters open links and a visit alone must change nothing.
const SCRIPT = `
const { texts, refusals } = JSON.parse(document.querySelector("#texts").textContent);
const button = document.querySelector("button"), note = document.querySelector("output");
const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
history.replaceState(null, "", location.pathname);
if (!token) { button.hidden = true; note.textContent = texts.incomplete; }
button.addEventListener("click", async () => {
  button.disabled = true;
  try {
    const answer = await fetch(location.pathname, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token }),
    });
    if (answer.ok) { button.hidden = true; note.textContent = texts.done; return; }
    const refusal = await answer.json();
    note.textContent = refusals[refusal.code] ?? refusal.detail;
  } catch { note.textContent = texts.unreachable; }
  button.disabled = false;
});`;

export const CONFIRM_PAGE_POLICY = pagePolicy(SCRIPT);

/** A button that posts the token of the URL fragment to the page's own path. */
export function confirmPage(language: "en" | "pt"): string {
  const t = TEXTS[language];
  const refusals = Object.fromEntries(EXPLAINED.map((code) => [code, CATALOGUE[code].user[language]]));
  const texts = JSON.stringify({ texts: t, refusals }).replaceAll("<", "\\u003c");
  return page(
    t.title,
    `<h1>${escapeHtml(t.title)}</h1>
<p>${escapeHtml(t.explanation)}</p>
<p><button type="button">${escapeHtml(t.confirm)}</button></p>
<p><output></output></p>
<script type="application/json" id="texts">${texts}</script>
<script>${SCRIPT}</script>`,
    language,
  );
}
