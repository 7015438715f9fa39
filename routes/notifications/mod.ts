import { directRoutes, feedbackRoutes, messageRoutes } from "./messages.ts";
import {
  deviceRoutes,
  preferenceRoutes,
  streamRoutes,
  userNotificationRoutes,
} from "./user_notifications.ts";
import { suppressionRoutes } from "./suppression.ts";
import {
  notificationSettingsRoutes,
  templateRenderingRoutes,
  templateRoutes,
  templateVersionRoutes,
} from "./templates.ts";
import { unsubscribeRoutes } from "./unsubscribe.ts";

/** Every route of the notifications area. */
export const notificationsRoutes = [
  ...unsubscribeRoutes, // before the routes whose `{id}` matches their paths too
  ...messageRoutes,
  ...directRoutes,
  ...templateRoutes,
  ...templateVersionRoutes,
  ...templateRenderingRoutes,
  ...notificationSettingsRoutes,
  ...userNotificationRoutes,
  ...deviceRoutes,
  ...preferenceRoutes,
  ...suppressionRoutes,
  ...streamRoutes,
  ...feedbackRoutes,
] as const;
