import { feedbackRoutes } from "./feedback.ts";
import { directRoutes, messageRoutes } from "./messages.ts";
import { preferenceRoutes } from "./preferences.ts";
import { suppressionRoutes } from "./suppression.ts";
import { notificationSettingsRoutes } from "./settings.ts";
import { templateRenderingRoutes, templateRoutes, templateVersionRoutes } from "./templates.ts";
import { unsubscribeRoutes } from "./unsubscribe.ts";
import { deviceRoutes, streamRoutes, userNotificationRoutes } from "./user_notifications.ts";

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
