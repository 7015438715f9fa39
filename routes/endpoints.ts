import type { Platform } from "../domain/shared/platform.ts";
import { VERSION } from "../infra/version.ts";
import { accessRoutes } from "./access/mod.ts";
import { authRoutes } from "./auth/mod.ts";
import { eventsRoutes } from "./events/mod.ts";
import { filesRoutes } from "./files/mod.ts";
import { jobsRoutes } from "./jobs/mod.ts";
import { notificationsRoutes } from "./notifications/mod.ts";
import { docsRoutes } from "./operations/docs.ts";
import { healthRoutes } from "./operations/health.ts";
import { metricsRoutes } from "./operations/metrics.ts";
import { outboxRoutes } from "./operations/outbox.ts";
import { overviewRoutes } from "./operations/overview.ts";
import { problemRoutes } from "./operations/problems.ts";
import { reportsRoutes } from "./reports/mod.ts";
import { resourcesRoutes } from "./resources/mod.ts";
import type { Endpoint } from "./shared/endpoint.ts";
import { openApiDocument } from "./shared/openapi.ts";

/** Every route of the service. */
export function allEndpoints(p: Platform, o: { isStopping: () => boolean }): Endpoint[] {
  const checks = [
    { name: "postgres", required: true, check: () => p.sql`select 1` },
    { name: "objectStore", required: true, check: () => p.objects.ping() },
    { name: "scanner", required: false, check: () => p.scanner.status() },
    ...p.mail.map((transport, index) => ({
      ...{ name: index === 0 ? "mail" : `mail-${index + 1}`, required: false, check: () => transport.ping() },
    })),
  ];
  let document: unknown;
  const endpoints: Endpoint[] = [
    ...authRoutes(p),
    ...accessRoutes(p),
    ...reportsRoutes(p),
    ...jobsRoutes(p),
    ...filesRoutes(p),
    ...notificationsRoutes(p),
    ...resourcesRoutes(p),
    ...eventsRoutes(p),
    ...overviewRoutes(p),
    ...healthRoutes(checks, { ...o, log: p.log }),
    ...metricsRoutes(p),
    ...problemRoutes,
    ...outboxRoutes(p.outbox),
    ...docsRoutes(() => document ??= openApiDocument(endpoints, { baseUrl: p.baseUrl(), version: VERSION })),
  ];
  return endpoints;
}
