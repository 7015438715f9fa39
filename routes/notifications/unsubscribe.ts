import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import {
  readUnsubscribeLink,
  unsubscribe,
  UNSUBSCRIBE_PATH,
} from "../../domain/notifications/unsubscribe.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { readHostedLooks } from "../looks/hosted_page.ts";
import { type Answer, text } from "../shared/answer.ts";
import type { Call } from "../shared/call.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { UNSUBSCRIBE_PAGE_POLICY, unsubscribePage } from "./unsubscribe_page.ts";

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
    problems: [],
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
