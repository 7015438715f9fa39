import { docsRoutes } from "./docs.ts";
import { healthRoutes } from "./health.ts";
import { markRoutes } from "./marks.ts";
import { metricsRoutes } from "./metrics.ts";
import { outboxRoutes } from "./outbox.tsx";
import { overviewRoutes } from "./overview.ts";
import { problemRoutes } from "./problems.tsx";
import { timelineRoutes } from "./timeline.ts";
import { usageRoutes } from "./usage.ts";

/** The routes of operations, which every service has. */
export const operationsRoutes = [
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
