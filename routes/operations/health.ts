import { z } from "zod";
import { anyone } from "../../domain/access/checks.ts";
import type { Log } from "../../infra/log.ts";
import { ok } from "../shared/answer.ts";
import { type Endpoint, endpoint } from "../shared/endpoint.ts";

/** One thing readiness depends on; a `required` one that fails makes the instance not ready. */
export interface HealthCheck {
  name: string;
  required: boolean;
  check(): Promise<unknown>;
}

const PATIENCE_MS = 2_000;

const Health = z.object({ status: z.enum(["ok", "stuck"]) }).meta({ id: "Health" });
const Readiness = z.object({
  status: z.enum(["ready", "degraded", "unavailable"]),
  checks: z.record(z.string(), z.enum(["ok", "failed"])),
  notices: z.array(z.string()).optional().describe("What should be otherwise in production"),
}).meta({ id: "Readiness" });

/** `/healthz` tells that the process answers and need not be replaced; `/readyz` whether it can do its work. Why not, the log has. */
export function healthRoutes(
  checks: HealthCheck[],
  o: { isStopping: () => boolean; isStuck?: () => boolean; log: Log; notices?: string[] },
): Endpoint[] {
  const look = lookedAtOnce(checks, o.log);
  return [
    endpoint({
      method: "get",
      path: "/healthz",
      area: "Operations",
      id: "health",
      summary: "The process answers",
      access: anyone,
      unlimited: true,
      answers: {
        200: { description: "Alive", schema: Health },
        503: {
          description:
            "The connections to Postgres no longer answer although it does: only a new process helps",
          schema: Health,
        },
      },
      problems: [],
      run: () => o.isStuck?.() ? { ...ok({ status: "stuck" }), status: 503 } : ok({ status: "ok" }),
    }),
    endpoint({
      method: "get",
      path: "/readyz",
      area: "Operations",
      id: "readiness",
      summary: "The instance can do its work",
      access: anyone,
      unlimited: true,
      answers: {
        200: { description: "Ready, or degraded: something optional does not answer", schema: Readiness },
        503: {
          description: "Postgres or the object store does not answer, or the instance is stopping",
          schema: Readiness,
        },
      },
      problems: [],
      async run() {
        const results = await look();
        const unavailable = o.isStopping() || results.some(({ required, works }) => required && !works);
        const degraded = results.some(({ works }) => !works);
        const status = unavailable ? "unavailable" : degraded ? "degraded" : "ready";
        const outcome = Object.fromEntries(results.map(({ name, works }) => [name, works ? "ok" : "failed"]));
        const notices = o.notices?.length ? { notices: o.notices } : {};
        return { ...ok({ status, checks: outcome, ...notices }), status: unavailable ? 503 : 200 };
      },
    }),
  ];
}

/**
 * Anyone may ask as often as they like: who asks while everything is being looked at gets what comes of it. What begins
 * or ceases to fail is logged once.
 */
function lookedAtOnce(checks: HealthCheck[], log: Log) {
  const failing = new Set<string>();
  const lookAt = async ({ name, required, check }: HealthCheck) => {
    const failure = await failureOf(check);
    const works = failure === null;
    if (works === failing.has(name)) {
      if (works) log.info("what the service needs works again", { check: name });
      else log.warn("what the service needs does not work", { check: name, required, error: failure });
    }
    failing[works ? "delete" : "add"](name);
    return { name, required, works };
  };
  let looking: Promise<Awaited<ReturnType<typeof lookAt>>[]> | null = null;
  return () => looking ??= Promise.all(checks.map(lookAt)).finally(() => looking = null);
}

/** Why a check does not succeed in time; null where it does. */
async function failureOf(check: () => Promise<unknown>): Promise<unknown> {
  const late = Promise.withResolvers<Error>();
  const timer = setTimeout(() => late.resolve(new Error(`no answer in ${PATIENCE_MS} ms`)), PATIENCE_MS);
  const failure = Promise.try(check).then(() => null, (error) => error ?? new Error("it failed"));
  try {
    return await Promise.race([failure, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
