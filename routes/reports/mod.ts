import { documentTemplateRoutes } from "./document_templates.ts";
import { executionRoutes, generationRoutes, linkRoutes } from "./executions.ts";
import { scheduleRoutes } from "./schedules.ts";
import { targetRoutes } from "./targets.ts";

/** Every route of the reports area. */
export const reportsRoutes = [
  ...generationRoutes,
  ...scheduleRoutes, // before `/reports/{id}`, which matches their paths too
  ...executionRoutes,
  ...linkRoutes,
  ...targetRoutes,
  ...documentTemplateRoutes,
] as const;
