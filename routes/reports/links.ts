import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import { Problem } from "../../domain/problems/problem.ts";
import { followReportLink, LINK_PATH, readLinkTenant } from "../../domain/reports/delivery/link.ts";
import { HOSTED_POLICY, type HostedLooks, hostedPage, readHostedLooks } from "../looks/hosted_page.ts";
import { text } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { escapeHtml } from "../shared/escape_html.ts";
import { languageOf } from "../shared/accept_language.ts";

const endpoint = endpointsIn("Reports");

/** The report links in mail and webhooks. */
export const linkRoutes = [
  endpoint(`GET ${LINK_PATH}/{token}`, {
    hasSecretPath: true,
    id: "followReportLink",
    summary: "Open the document of a report link; anyone with the link can, for 24 hours",
    access: anyone,
    params: z.object({ token: z.string() }),
    answers: {
      302: { description: "Redirect to a URL of the document that is valid for five minutes" },
      404: { description: "A page for browsers", contentType: "text/html" },
      409: { description: "A page for browsers", contentType: "text/html" },
    },
    problems: [
      "REPORT_LINK_NOT_FOUND",
      "FILE_NOT_AVAILABLE_CONFLICT",
      "FILE_INFECTED_CONFLICT",
      "FILE_PURGED_CONFLICT",
    ],
    async run({ platform, params: { token }, call: { traceId, ip, request: { headers } } }) {
      try {
        const location = await followReportLink(platform, token, { traceId, ip });
        return { status: 302, headers: { location, "referrer-policy": "no-referrer" }, body: undefined };
      } catch (refusal) {
        const wantsPage = headers.get("accept")?.includes("text/html");
        if (!(refusal instanceof Problem) || !wantsPage) throw refusal;
        const looks = await readHostedLooks(platform, await readLinkTenant(platform.sql, token));
        const html = linkRefusedPage(looks, refusal, headers.get("accept-language"));
        const policy = {
          "content-security-policy": `${HOSTED_POLICY}; form-action 'none'`,
          vary: "accept, accept-language",
        };
        return { ...text(html, "text/html; charset=utf-8", policy), status: refusal.status };
      }
    },
  }),
] as const;

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
function linkRefusedPage(
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
