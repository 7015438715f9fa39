import { webhookEndpoints } from "../../domain/events/endpoints.ts";
import { recordRoutes } from "../records/record_routes.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { eventRoutes, eventTypeRoutes } from "./events.ts";

/** Webhook endpoints, their deliveries, and the event types. */
export const eventsRoutes = [
  ...recordRoutes(webhookEndpoints),
  ...deliveryRoutes,
  ...eventTypeRoutes,
  ...eventRoutes,
] as const;
