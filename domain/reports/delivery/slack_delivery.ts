import { createHttpOut, OutboundRefused } from "../../../infra/http_out/http_out.ts";
import { FORMATS } from "../../documents/formats.ts";
import type { Platform } from "../../shared/platform.ts";
import type { Execution } from "../execution.ts";
import { isTemporaryRefusal, type Outcome } from "./delivery.ts";
import { createReportLink } from "./link.ts";

/** Posts a message with the report's name, its number of rows and a link to the document. */
export async function deliverToSlack(p: Platform, execution: Execution, url: string): Promise<Outcome> {
  const { url: link, expiresAt } = await createReportLink(p, p.sql, execution.id);
  const { reportName, fileName, rowCount, format } = execution;
  const rows = rowCount === null ? "" : `: ${rowCount} ${rowCount === 1 ? "row" : "rows"}`;
  const until = expiresAt.toISOString().slice(0, 16).replace("T", " ");
  const lines = [
    `*${escaped(reportName)}*${rows}`,
    `<${link}|${escaped(fileName ?? FORMATS[format].extension)}> (until ${until} UTC)`,
  ];
  return await postToSlack(p, url, lines.join("\n"));
}

/**
 * Posts a text to a Slack-compatible webhook, which answers `ok`. Refusals of Slack, such as `no_service`, are final and
 * become the reason. The URL is a secret, so no message contains it.
 */
export async function postToSlack(
  { config }: Pick<Platform, "config">,
  url: string,
  text: string,
): Promise<Outcome> {
  const http = createHttpOut({ allow: config.OUTBOUND_ALLOW, followsRedirects: false });
  const headers = { "content-type": "application/json", "user-agent": "steward-webhook" };
  try {
    const answer = await http.send({ url, method: "POST", headers, body: JSON.stringify({ text }) });
    const said = new TextDecoder().decode(answer.body.subarray(0, 200)).trim();
    if (answer.status >= 200 && answer.status < 300 && said === "ok") return { status: "Delivered" };
    const word = /^[a-z_]{1,60}$/.test(said) ? ` ${said}` : "";
    const reason = `The receiver answered ${answer.status}${word}, expected 200 ok.`;
    if (isTemporaryRefusal(answer.status)) return { status: "Owed", reason, isUnavailable: true };
    return { status: "Failed", reason };
  } catch (error) {
    if (error instanceof OutboundRefused) {
      return { status: "Failed", reason: "Refused: the address of the webhook is private." };
    }
    return { status: "Owed", reason: "The receiver could not be reached.", isUnavailable: true };
  }
}

/** A text without the characters that Slack's format gives a meaning. */
export const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(/[*_~`|]/g, " ");
