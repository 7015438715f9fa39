import type { Problem } from "../../domain/problems/problem.ts";
import { type HostedLooks, hostedPage } from "../looks/hosted_page.ts";
import { escapeHtml } from "../operations/page.ts";
import { languageOf } from "../shared/accept_language.ts";

interface Words {
  title: string;
  /** The link is unknown or expired, or its report was deleted. */
  gone: string;
  scanning: string;
  /** The file was removed or did not pass its scan. */
  withheld: string;
}

const WORDS: Record<"en" | "pt", Words> = {
  en: {
    title: "This report cannot be opened",
    gone:
      "The link is not valid or is older than 24 hours, or the report was deleted. Ask the sender for a new link.",
    scanning: "The document is still being scanned. Try the link again in a moment.",
    withheld:
      "The document was removed or did not pass its scan. Ask the sender to generate the report again.",
  },
  pt: {
    title: "Não é possível abrir este relatório",
    gone:
      "O link não é válido ou tem mais de 24 horas, ou o relatório foi excluído. Peça um novo link ao remetente.",
    scanning: "O documento ainda está sendo analisado. Tente o link daqui a pouco.",
    withheld:
      "O documento foi removido ou não passou na análise. Peça ao remetente que gere o relatório de novo.",
  },
};

/** The page for a link that has no document to open. */
export function linkRefusedPage(
  looks: HostedLooks,
  { code }: Problem,
  acceptLanguage: string | null,
): string {
  const language = languageOf(acceptLanguage);
  const words = WORDS[language];
  const reason = code === "REPORT_LINK_NOT_FOUND"
    ? words.gone
    : code === "FILE_NOT_AVAILABLE_CONFLICT"
    ? words.scanning
    : words.withheld;
  const body = `<h1>${escapeHtml(words.title)}</h1><p>${escapeHtml(reason)}</p>`;
  return hostedPage(looks, { title: words.title, body, language });
}
