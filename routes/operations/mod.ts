import { docsRoutes } from "./docs.ts";
import { healthRoutes } from "./health.ts";
import { outboxRoutes } from "./outbox.tsx";
import { overviewRoutes } from "./overview.ts";
import { problemRoutes } from "./problems.tsx";

/** The routes of operations, which every service has. */
export const operationsRoutes = [
  ...overviewRoutes,
  ...healthRoutes,
  ...problemRoutes,
  ...outboxRoutes,
  ...docsRoutes,
] as const;
