import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import {
  readUnsubscribeLink,
  unsubscribe,
  UNSUBSCRIBE_PATH,
} from "../../domain/notifications/unsubscribe.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { HOSTED_POLICY, type HostedLooks, hostedPage, readHostedLooks } from "../looks/hosted_page.ts";
import { type Answer, text } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { escapeHtml, languageOf } from "../shared/html.ts";

const endpoint = endpointsIn("Notifications");

const query = z.object({ token: z.string().max(1_000) });

/** The unsubscribe link of a mail. It stops mail of the category, without a sign-in. */
export const unsubscribeRoutes = [
  endpoint(`GET ${UNSUBSCRIBE_PATH}`, {
    id: "showUnsubscribePage",
    access: anyone,
    query,
    summary: "The page of an unsubscribe link; it asks for confirmation and changes nothing",
    answers: { 200: { description: "A page in English or Portuguese", contentType: "text/html" } },
    async run({ platform, query: { token }, call }) {
      const claim = await readUnsubscribeLink(platform, token);
      return await answerPage(
        platform,
        call,
        claim?.tenantId ?? null,
        claim ? { ...claim, is: "ask" } : { is: "invalid" },
      );
    },
  }),
  endpoint(`POST ${UNSUBSCRIBE_PATH}`, {
    id: "unsubscribe",
    access: anyone,
    query,
    summary: "Unsubscribe with the token of a mail (RFC 8058); the body is ignored",
    answers: { 200: { description: "Unsubscribed, also on a repeated request", contentType: "text/html" } },
    problems: ["NOTIFICATION_UNSUBSCRIBE_INVALID"],
    async run({ platform, query: { token }, call }) {
      const claim = await unsubscribe(platform, token);
      return await answerPage(platform, call, claim.tenantId, { ...claim, is: "done" });
    },
  }),
] as const;

async function answerPage(
  platform: ServicePlatform,
  { request }: Call,
  tenantId: string | null,
  state: Parameters<typeof unsubscribePage>[1],
): Promise<Answer> {
  const looks = await readHostedLooks(platform, tenantId);
  const html = unsubscribePage(looks, state, request.headers.get("accept-language"));
  return text(html, "text/html; charset=utf-8", {
    "content-security-policy": UNSUBSCRIBE_PAGE_POLICY,
    "referrer-policy": "no-referrer",
  });
}

/** Allows no scripts, and forms only to the own origin. */
const UNSUBSCRIBE_PAGE_POLICY = `${HOSTED_POLICY}; form-action 'self'`;

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
    ask: (category) => `Não quer mais receber mensagens sobre ${category}?`,
    button: "Cancelar a inscrição",
    done: (category) => `Está feito. Não receberá mais mensagens sobre ${category}.`,
    invalid: "Este link não é válido ou é antigo demais. Use o de uma mensagem mais recente.",
  },
};

/** The page of an unsubscribe link: a question with a button, a confirmation, or a note that the link is invalid. */
function unsubscribePage(
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
