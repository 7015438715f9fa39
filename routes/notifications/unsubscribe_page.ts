import { HOSTED_POLICY, type HostedLooks, hostedPage } from "../looks/hosted_page.ts";
import { escapeHtml } from "../operations/page.ts";
import { languageOf } from "../shared/accept_language.ts";

/** Allows no scripts, and forms only to the own origin. */
export const UNSUBSCRIBE_PAGE_POLICY = `${HOSTED_POLICY}; form-action 'self'`;

interface Words {
  title: string;
  ask(category: string): string;
  button: string;
  done(category: string): string;
  invalid: string;
}

const WORDS: Record<"en" | "pt", Words> = {
  en: {
    title: "Unsubscribe",
    ask: (category) => `Do you no longer want mail about ${category}?`,
    button: "Unsubscribe",
    done: (category) => `Done. You get no more mail about ${category}.`,
    invalid: "This link is not valid, or too old. Use the one of a newer mail.",
  },
  pt: {
    title: "Cancelar a inscrição",
    ask: (category) => `Já não quer receber mensagens sobre ${category}?`,
    button: "Cancelar a inscrição",
    done: (category) => `Está feito. Não receberá mais mensagens sobre ${category}.`,
    invalid: "Este link não é válido ou é antigo demais. Use o de uma mensagem mais recente.",
  },
};

/** The page of an unsubscribe link: a question with a button, a confirmation, or a note that the link is invalid. */
export function unsubscribePage(
  looks: HostedLooks,
  state: { is: "ask" | "done"; category: string } | { is: "invalid" },
  acceptLanguage: string | null,
): string {
  const language = languageOf(acceptLanguage);
  const words = WORDS[language];
  const quoted = (text: (category: string) => string, category: string) => escapeHtml(text(`“${category}”`));
  const body = state.is === "invalid"
    ? `<p>${escapeHtml(words.invalid)}</p>`
    : state.is === "done"
    ? `<p>${quoted(words.done, state.category)}</p>`
    : `<p>${quoted(words.ask, state.category)}</p>
<form method="post"><input type="hidden" name="List-Unsubscribe" value="One-Click">
<p><button>${escapeHtml(words.button)}</button></p></form>`;
  const { title } = words;
  return hostedPage(looks, { title, body: `<h1>${escapeHtml(title)}</h1>${body}`, language });
}
