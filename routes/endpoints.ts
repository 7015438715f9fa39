import type { ServicePlatform } from "../domain/platform.ts";
import { accessRoutes } from "./access/mod.ts";
import { authRoutes } from "./auth/mod.ts";
import { eventsRoutes } from "./events/mod.ts";
import { filesRoutes } from "./files/mod.ts";
import { jobsRoutes } from "./jobs/mod.ts";
import { looksRoutes } from "./looks/mod.ts";
import { notificationsRoutes } from "./notifications/mod.ts";
import { oauthRoutes } from "./oauth/mod.ts";
import { docsRoutes } from "./operations/docs.ts";
import { healthRoutes } from "./operations/health.ts";
import { markRoutes } from "./operations/marks.ts";
import { metricsRoutes } from "./operations/metrics.ts";
import { outboxRoutes } from "./operations/outbox.tsx";
import { overviewRoutes } from "./operations/overview.ts";
import { usageRoutes } from "./operations/usage.ts";
import { problemRoutes } from "./operations/problems.tsx";
import { timelineRoutes } from "./operations/timeline.ts";
import { reportsRoutes } from "./reports/mod.ts";
import { recordsRoutes } from "./records/mod.ts";
import { scimRoutes } from "./scim/mod.ts";
import type { Endpoint } from "./shared/endpoint.ts";

const OPERATIONS = [
  ...authRoutes,
  ...oauthRoutes,
  ...accessRoutes,
  ...scimRoutes,
  ...reportsRoutes,
  ...jobsRoutes,
  ...filesRoutes,
  ...notificationsRoutes,
  ...recordsRoutes,
  ...looksRoutes,
  ...eventsRoutes,
  ...overviewRoutes,
  ...markRoutes,
  ...timelineRoutes,
  ...usageRoutes,
  ...healthRoutes,
  ...metricsRoutes,
  ...problemRoutes,
  ...outboxRoutes,
  ...docsRoutes,
] as const;

/** Every route by its operation id, with the types of its parameters, body and answer. */
export type Operations = { [O in typeof OPERATIONS[number] as O["id"]]: O };

/** Every route of the service. */
export const ENDPOINTS: readonly Endpoint[] = OPERATIONS;

/** The routes that a service answers: `/dev/outbox` only if it has an outbox. */
export const endpointsOf = ({ outbox }: Pick<ServicePlatform, "outbox">): readonly Endpoint[] =>
  outbox ? ENDPOINTS : ENDPOINTS.filter((spec) => !outboxRoutes.some(({ id }) => id === spec.id));
