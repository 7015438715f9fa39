import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { metricsPage } from "../../domain/operations/metrics_page.ts";
import type { ServicePlatform } from "../../domain/platform.ts";
import { problem } from "../../domain/problems/problem.ts";
import { anyone } from "../../domain/rights/checks.ts";
import { ok, text } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";

const endpoint = endpointsIn("Operations");

const Health = z.object({ status: z.enum(["ok", "stuck"]) }).meta({ id: "Health" });
const Readiness = z.object({
  status: z.enum(["ready", "degraded", "unavailable"]),
  checks: z.record(z.string(), z.enum(["ok", "failed"])),
  notices: z.array(z.string()).optional().describe("Settings that should differ in production"),
}).meta({ id: "Readiness" });

const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * `/healthz`: whether the process must be replaced. `/readyz`: whether the instance can work; the log says why not.
 * `/metrics` for Prometheus: with METRICS_TOKEN as the bearer token, or public with METRICS_PUBLIC.
 */
export const healthRoutes = [
  endpoint("GET /healthz", {
    id: "health",
    summary: "Whether the process must be replaced",
    access: anyone,
    quota: "none",
    service: "essential",
    answers: {
      200: { description: "Alive", schema: Health },
      503: {
        description: "Postgres works but the connections of this process do not answer: replace the process",
        schema: Health,
      },
    },
    run: ({ platform }) =>
      platform.health.isStuck() ? { ...ok({ status: "stuck" }), status: 503 } : ok({ status: "ok" }),
  }),
  endpoint("GET /readyz", {
    id: "readiness",
    summary: "Whether the instance can do its work",
    access: anyone,
    quota: "none",
    service: "essential",
    answers: {
      200: { description: "Ready; or degraded, if an optional dependency does not work", schema: Readiness },
      503: {
        description: "Postgres or the object store does not work, or the instance is stopping",
        schema: Readiness,
      },
    },
    async run({ platform: { health, stopping } }) {
      const results = await health.check();
      const unavailable = stopping.aborted || results.some(({ required, works }) => required && !works);
      const degraded = results.some(({ works }) => !works);
      const status = unavailable ? "unavailable" : degraded ? "degraded" : "ready";
      const outcome = Object.fromEntries(results.map(({ name, works }) => [name, works ? "ok" : "failed"]));
      const notices = health.notices.length > 0 ? { notices: health.notices } : {};
      return { ...ok({ status, checks: outcome, ...notices }), status: unavailable ? 503 : 200 };
    },
  }),
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
