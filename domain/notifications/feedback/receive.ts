import { createHttpOut, type HttpOut } from "../../../infra/http_out/http_out.ts";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { problem } from "../../problems/problem.ts";
import type { Platform } from "../../shared/platform.ts";
import { applyReports } from "./apply_reports.ts";
import { FEEDBACK_PATH, findAdapter } from "./adapters.ts";
import { applyReply } from "./replies.ts";
import { storableText } from "../../shared/cut_text.ts";

/** How many reports of a request changed something, and how many did not: repeated, out of order, or not about our messages. */
export interface FeedbackResult {
  applied: number;
  ignored: number;
}

/**
 * Takes a request of a provider. It may come again, late or out of order: see `applyReports`.
 * @throws ROUTE_NOT_FOUND (the provider is not configured), NOTIFICATION_FEEDBACK_UNAUTHORIZED, VALIDATION_ERROR
 */
export async function receiveFeedback(
  p: Pick<Platform, "sql" | "config" | "clock" | "baseUrl">,
  provider: string,
  given: { search: string; headers: Headers; body: Uint8Array },
  http: HttpOut = createHttpOut({ allow: p.config.OUTBOUND_ALLOW }),
): Promise<FeedbackResult> {
  const found = findAdapter(p.config, provider);
  if (!found) throw problem("ROUTE_NOT_FOUND", `Feedback of the provider "${provider}" is not configured.`);
  const { headers, body, search } = given;
  const url = `${p.baseUrl()}${FEEDBACK_PATH}/${provider}${search}`;
  const request = { url, headers, body, now: p.clock.now(), http };
  const { reports, reply, receipt } = await found.adapter.read(request, found.secret);
  return await transact(p.sql, async (tx) => {
    if (receipt !== undefined && !await isFirst(tx, provider, receipt)) {
      return { applied: 0, ignored: reports.length };
    }
    const applied = await applyReports(tx, reports) + (reply ? await applyReply(tx, reply) : 0);
    return { applied, ignored: Math.max(0, reports.length + (reply ? 1 : 0) - applied) };
  });
}

/** Stores the receipt of a request. False if it is stored already. */
async function isFirst(tx: Tx, provider: string, receipt: string): Promise<boolean> {
  const { count } = await tx`insert into notification_feedback_receipts (provider, receipt)
    values (${provider}, ${storableText(receipt, 500)}) on conflict do nothing`;
  return count === 1;
}
