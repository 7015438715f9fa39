import type { Platform } from "../domain/shared/platform.ts";
import { requireDiskSpace } from "../infra/postgres/disk_space.ts";
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

/** State of the running instance that routes read. */
export interface Instance {
  isStopping(): boolean;
  /** Can only a new process reach the database? */
  isStuck?(): boolean;
  /** Why no job can start on this instance; null if jobs can start, or if it runs no jobs. */
  jobStallReason?(): string | null;
}

/** Every route of the service. */
export function allEndpoints(p: Platform, o: Instance): Endpoint[] {
  const checks = [
    { name: "postgres", required: true, check: () => p.sql`select 1` },
    { name: "objectStore", required: true, check: () => p.objects.ping() },
    { name: "postgresDisk", required: false, check: rarely(() => requireDiskSpace(p.sql)) },
    { name: "jobs", required: false, check: () => requireNone(o.jobStallReason?.()) },
    { name: "scanner", required: false, check: () => p.scanner.status() },
    ...p.mail.map((transport, index) => ({
      ...{ name: index === 0 ? "mail" : `mail-${index + 1}`, required: false, check: () => transport.ping() },
    })),
  ];
  const notices = p.scanner.notice === undefined ? [] : [p.scanner.notice];
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
    ...healthRoutes(checks, { ...o, log: p.log, notices }),
    ...metricsRoutes(p),
    ...problemRoutes,
    ...outboxRoutes(p.outbox),
    ...docsRoutes(() => document ??= openApiDocument(endpoints, { baseUrl: p.baseUrl(), version: VERSION })),
  ];
  return endpoints;
}

const RARELY_MS = 5_000;

/** The check's outcome, found out anew after some seconds: anyone may ask, and it costs the database something. */
function rarely(check: () => Promise<void>): () => Promise<void> {
  let checkedAt = -Infinity;
  let outcome = Promise.resolve();
  return () => {
    if (performance.now() - checkedAt > RARELY_MS) {
      checkedAt = performance.now();
      outcome = check();
    }
    return outcome;
  };
}

/** Rejects with the reason, if there is one. */
const requireNone = (reason: string | null | undefined): Promise<void> =>
  reason ? Promise.reject(new Error(reason)) : Promise.resolve();
