import { createHash } from "node:crypto";
import { z } from "zod";
import { CATALOGUE, type ProblemCode } from "../../domain/problems/problem.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { HOSTED_POLICY, hostedPage, readHostedLooks } from "../looks/hosted_page.ts";
import { escapeHtml, languageOf } from "../shared/html.ts";
import { type Answer, text } from "../shared/answer.ts";

/** The token of a mailed link. */
export const mailedToken = z.string().min(1).max(200);

const SHARED_TEXTS = {
  en: {
    password: "Password",
    newPassword: "New password",
    repeated: "Once more",
    differ: "The two passwords differ.",
    rules:
      "Choose another password: 12 to 128 characters, not a common one, not one made of your name or email, and not one known from a data breach.",
    unreachable: "The service could not be reached. Try again.",
    done: "Done. You can sign in now.",
    signIn: "Go to the sign-in page",
  },
  pt: {
    password: "Senha",
    newPassword: "Nova senha",
    repeated: "Repita-a",
    differ: "As duas senhas são diferentes.",
    rules:
      "Escolha outra senha: 12 a 128 caracteres, que não seja comum, nem feita do seu nome ou e-mail, nem conhecida de um vazamento de dados.",
    unreachable: "Não foi possível contatar o serviço. Tente de novo.",
    done: "Pronto. Já pode entrar.",
    signIn: "Ir para a página de login",
  },
};
type SharedTexts = typeof SHARED_TEXTS.en;

/** The texts that every page of a mailed link has. */
interface Texts {
  title: string;
  /** Shown if the link has no token. */
  incomplete: string;
}

/**
 * Start of every page's script: `texts`, `note` and `token`, which it removes from the address. `send` posts the token;
 * its result is the answer's value, or null after it showed why not. `wear` shows looks instead of the service's own.
 * `sendOnSubmit` posts the body that it reads from a form with a password; `mustRepeat` tells whether it is entered twice.
 */
const SHARED_SCRIPT = `
const { texts, refusals } = JSON.parse(document.querySelector("#texts").textContent);
const note = document.querySelector("output");
const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
history.replaceState(null, "", location.pathname);
if (!token) note.textContent = texts.incomplete;
async function send(path, body) {
  note.textContent = "";
  try {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, ...body }),
    });
    const value = answer.status === 204 ? {} : await answer.json();
    if (answer.ok) return value;
    const isPassword = value.errors?.some((error) => /^\\w*password:/i.test(error));
    note.textContent = refusals[value.code] ?? (isPassword ? texts.rules : value.errors?.join(" ") ?? value.detail);
  } catch { note.textContent = texts.unreachable; }
  return null;
}
function wear(looks) {
  document.title = texts.title + " · " + looks.productName;
  const { style } = document.documentElement;
  style.setProperty("--primary", looks.primaryColour);
  style.setProperty("--on-primary", looks.textColour);
  const logo = Object.assign(new Image(), { className: "logo", alt: looks.productName });
  if (looks.logoUrl) logo.src = looks.logoUrl;
  document.querySelector("header").replaceChildren(looks.logoUrl ? logo : looks.productName);
  document.querySelector("footer").textContent = looks.footer;
}
function sendOnSubmit(form, path, readBody, mustRepeat = () => true) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { password, repeated, button } = form;
    if (mustRepeat() && password.value !== repeated.value) { note.textContent = texts.differ; return; }
    button.disabled = true;
    const done = await send(path, readBody());
    button.disabled = false;
    if (!done) return;
    form.hidden = true;
    note.textContent = texts.done;
    document.querySelector("#next")?.removeAttribute("hidden");
  });
}`;

const readLooksScript = (path: string): string => `
if (token) send("${path}").then((looks) => looks && wear(looks));`;

/** Allows only the page's one script, and requests only to the page's origin. */
const policyOf = (script: string): string =>
  `${HOSTED_POLICY}; connect-src 'self'; form-action 'none'; ` +
  `script-src 'sha256-${createHash("sha256").update(script).digest("base64")}'`;

/**
 * The page of a mailed link with its token in the URL fragment, in the language of the browser. The service does not see
 * the token when it sends the page, so the page has the service's own looks until an answer to the token brings others.
 * @param o.explained refusals that the page explains in its language; others show the answer's own text
 * @param o.looksFrom where the script reads the looks with the token; absent: `script` does
 * @param o.script runs after the shared script; the texts are its variable `texts`
 */
export function mailedPage<T extends Texts>(o: {
  texts: { en: T; pt: T };
  explained: ProblemCode[];
  body: (t: T & SharedTexts) => string;
  script: string;
  looksFrom?: string;
}): (platform: ServicePlatform, request: Request) => Promise<Answer> {
  const script = SHARED_SCRIPT + (o.looksFrom === undefined ? "" : readLooksScript(o.looksFrom)) + o.script;
  const headers = {
    "content-security-policy": policyOf(script),
    "referrer-policy": "no-referrer",
    vary: "accept-language",
  };
  const contentOf = (language: "en" | "pt") => {
    const texts = { ...SHARED_TEXTS[language], ...o.texts[language] };
    const refusals = Object.fromEntries(o.explained.map((code) => [code, CATALOGUE[code].user[language]]));
    const data = JSON.stringify({ texts, refusals }).replaceAll("<", "\\u003c");
    const body = `<h1>${escapeHtml(texts.title)}</h1>
${o.body(texts)}
<p><output></output></p>
<script type="application/json" id="texts">${data}</script>
<script>${script}</script>`;
    return { title: texts.title, body, language };
  };
  const contents = { en: contentOf("en"), pt: contentOf("pt") };
  return async (platform, request) => {
    const content = contents[languageOf(request.headers.get("accept-language"))];
    const html = hostedPage(await readHostedLooks(platform, null), content);
    return text(html, "text/html; charset=utf-8", headers);
  };
}

/**
 * A page whose button confirms: mail filters open links, and a visit alone must change nothing.
 * @param o.action the path that the button posts the token to, relative to the page
 */
export const confirmationPage = <T extends Texts & { explanation: string; confirm: string; done: string }>(
  { action, ...o }: { texts: { en: T; pt: T }; explained: ProblemCode[]; action: string; looksFrom?: string },
): (platform: ServicePlatform, request: Request) => Promise<Answer> =>
  mailedPage({
    ...o,
    body: (t) =>
      `<p>${escapeHtml(t.explanation)}</p>
<p><button type="button">${escapeHtml(t.confirm)}</button></p>`,
    script: `
const button = document.querySelector("button");
button.hidden = !token;
button.addEventListener("click", async () => {
  button.disabled = true;
  const confirmed = await send(${JSON.stringify(action)});
  button.disabled = false;
  if (!confirmed) return;
  button.hidden = true;
  note.textContent = texts.done;
});`,
  });
