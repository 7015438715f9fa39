import type { Platform } from "../../domain/shared/platform.ts";
import type { Endpoint } from "../shared/endpoint.ts";
import { deviceRoutes } from "./devices.ts";
import { directRoutes } from "./direct.ts";
import { messageRoutes } from "./messages.ts";
import { streamRoutes } from "./stream.ts";
import { templateRoutes } from "./templates.ts";
import { userNotificationRoutes } from "./user_notifications.ts";

/** Every route of the notifications area. */
export const notificationsRoutes = (p: Platform): Endpoint[] => [
  ...messageRoutes(p),
  ...directRoutes(p),
  ...templateRoutes(p),
  ...userNotificationRoutes(p),
  ...deviceRoutes(p),
  ...streamRoutes(p),
];
