import { deviceRoutes } from "./devices.ts";
import { directRoutes } from "./direct.ts";
import { feedbackRoutes } from "./feedback.ts";
import { messageRoutes } from "./messages.ts";
import { preferenceRoutes } from "./preferences.ts";
import { streamRoutes } from "./stream.ts";
import { suppressionRoutes } from "./suppression.ts";
import { notificationSettingsRoutes } from "./settings.ts";
import { templateRenderingRoutes } from "./template_rendering.ts";
import { templateVersionRoutes } from "./template_versions.ts";
import { templateRoutes } from "./templates.ts";
import { unsubscribeRoutes } from "./unsubscribe.ts";
import { userNotificationRoutes } from "./user_notifications.ts";

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
