import { webhookEndpoints } from "../../domain/events/endpoints.ts";
import type { Resource } from "../../domain/resources/resource.ts";
import { resourceRoutes } from "../resources/resource_routes.ts";
import type { Endpoint } from "../shared/endpoint.ts";
import { deliveryRoutes } from "./deliveries.ts";
import { eventTypeRoutes } from "./event_types.ts";

/** Webhook endpoints, their deliveries, and the event types. */
export const eventsRoutes: Endpoint[] = [
  ...resourceRoutes(webhookEndpoints as unknown as Resource),
  ...deliveryRoutes,
  ...eventTypeRoutes,
];
