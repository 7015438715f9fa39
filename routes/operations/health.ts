import { z } from "zod";
import { anyone } from "../../domain/rights/checks.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";

const endpoint = endpointsIn("Operations");

const Health = z.object({ status: z.enum(["ok", "stuck"]) }).meta({ id: "Health" });
const Readiness = z.object({
  status: z.enum(["ready", "degraded", "unavailable"]),
  checks: z.record(z.string(), z.enum(["ok", "failed"])),
  notices: z.array(z.string()).optional().describe("Settings that should differ in production"),
}).meta({ id: "Readiness" });

/** `/healthz`: whether the process must be replaced. `/readyz`: whether the instance can work; the log says why not. */
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
] as const;
