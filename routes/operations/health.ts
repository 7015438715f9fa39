import { z } from "zod";
import { anyone } from "../../domain/access/checks.ts";
import { ok } from "../shared/answer.ts";
import { type Endpoint, endpoint } from "../shared/endpoint.ts";

/** One thing readiness depends on; a `required` one that fails makes the instance not ready. */
export interface HealthCheck {
  name: string;
  required: boolean;
  check(): Promise<unknown>;
}

const PATIENCE_MS = 2_000;

const Health = z.object({ status: z.literal("ok") }).meta({ id: "Health" });
const Readiness = z.object({
  status: z.enum(["ready", "degraded", "unavailable"]),
  checks: z.record(z.string(), z.enum(["ok", "failed"])),
}).meta({ id: "Readiness" });

/** `/healthz` tells that the process answers; `/readyz` whether it can do its work. */
export function healthRoutes(checks: HealthCheck[], isStopping: () => boolean): Endpoint[] {
  const look = lookedAtOnce(checks);
  return [
    endpoint({
      method: "get",
      path: "/healthz",
      area: "Operations",
      id: "health",
      summary: "The process answers",
      access: anyone,
      unlimited: true,
      answers: { 200: { description: "Alive", schema: Health } },
      problems: [],
      run: () => ok({ status: "ok" }),
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
        const unavailable = isStopping() || results.some(({ required, works }) => required && !works);
        const degraded = results.some(({ works }) => !works);
        const status = unavailable ? "unavailable" : degraded ? "degraded" : "ready";
        const outcome = Object.fromEntries(results.map(({ name, works }) => [name, works ? "ok" : "failed"]));
        return { ...ok({ status, checks: outcome }), status: unavailable ? 503 : 200 };
      },
    }),
  ];
}

/** Anyone may ask as often as they like: who asks while everything is being looked at gets what comes of it. */
function lookedAtOnce(checks: HealthCheck[]) {
  const lookAt = async ({ name, required, check }: HealthCheck) => ({
    name,
    required,
    works: await answersInTime(check),
  });
  let looking: Promise<Awaited<ReturnType<typeof lookAt>>[]> | null = null;
  return () => looking ??= Promise.all(checks.map(lookAt)).finally(() => looking = null);
}

async function answersInTime(check: () => Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => timer = setTimeout(() => resolve(false), PATIENCE_MS));
  const works = check().then(() => true, () => false);
  const result = await Promise.race([works, late]);
  clearTimeout(timer);
  return result;
}
