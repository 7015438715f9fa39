import { type OutboundAnswer, readRetryAfter, type SendProblem } from "@steward/steward";

/** True for a URL of http or https without credentials. */
export function isWebUrl(address: string): boolean {
  const url = URL.canParse(address) ? new URL(address) : null;
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
}

/** Refusals that can succeed later: timeout, too early, too many requests. */
const TEMPORARY = [408, 425, 429];

/** The reason why the receiver did not accept the message. A 4xx is permanent, except TEMPORARY. Null: it accepted the message. */
export function problemOf(who: string, answer: OutboundAnswer, detail = ""): SendProblem | null {
  const { status, headers } = answer;
  if (status >= 200 && status < 300) return null;
  return {
    reason: `${who} answered ${status}${detail && `: ${detail}`}`,
    isPermanent: status >= 400 && status < 500 && !TEMPORARY.includes(status),
    retryAfterMs: readRetryAfter(
      headers["retry-after"] ?? null,
      Date.parse(headers.date ?? "") || Date.now(),
    ),
  };
}
