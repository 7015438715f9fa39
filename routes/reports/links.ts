import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import { Problem } from "../../domain/problems/problem.ts";
import { followReportLink, LINK_PATH, readLinkTenant } from "../../domain/reports/delivery/link.ts";
import { HOSTED_POLICY, readHostedLooks } from "../looks/hosted_page.ts";
import { text } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { linkRefusedPage } from "./link_page.ts";

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
