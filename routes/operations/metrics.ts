import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import { metricsPage } from "../../domain/operations/metrics_page.ts";
import { problem } from "../../domain/problems/problem.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { text } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";

const endpoint = endpointsIn("Operations");

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** `/metrics` for Prometheus: with METRICS_TOKEN as the bearer token, or public with METRICS_PUBLIC. */
export const metricsRoutes = [
  endpoint("GET /metrics", {
    id: "metrics",
    summary: "Read counters and gauges in the Prometheus text format",
    access: anyone,
    quota: "none",
    service: "essential",
    answers: { 200: { description: "The metrics", schema: z.string(), contentType: CONTENT_TYPE } },
    problems: ["TOKEN_MISSING", "TOKEN_INVALID", "ROUTE_NOT_FOUND"],
    async run({ platform, call }) {
      requireScraper(platform.config, call.request.headers.get("authorization"));
      return text(await metricsPage(platform), CONTENT_TYPE);
    },
  }),
] as const;

/** @throws ROUTE_NOT_FOUND if neither METRICS_TOKEN nor METRICS_PUBLIC is set; TOKEN_MISSING, TOKEN_INVALID */
function requireScraper(
  { METRICS_TOKEN, METRICS_PUBLIC }: ServicePlatform["config"],
  authorization: string | null,
): void {
  if (METRICS_TOKEN === null) {
    if (METRICS_PUBLIC) return;
    throw problem("ROUTE_NOT_FOUND", "Metrics are off: neither METRICS_TOKEN nor METRICS_PUBLIC is set.");
  }
  const given = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
  if (!given) throw problem("TOKEN_MISSING", "The request carries no bearer token; expected METRICS_TOKEN.");
  const digest = (token: string) => createHash("sha256").update(token).digest();
  if (timingSafeEqual(digest(given), digest(METRICS_TOKEN))) return;
  throw problem("TOKEN_INVALID", "The bearer token is not METRICS_TOKEN.");
}
