import { z } from "zod";
import { inTenant } from "../../domain/rights/checks.ts";
import { NotificationSettings, readNotificationSettings } from "../../domain/templates/locales.ts";
import { setNotificationSettings } from "../../domain/templates/write.ts";
import { contentTag } from "../../domain/shared/version.ts";
import { ok } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { requiredText } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Notification templates");

/** The settings of a tenant for its templates. */
export const notificationSettingsRoutes = [
  endpoint("GET /api/v1/notification-settings", {
    id: "readNotificationSettings",
    summary: "Read the fallback locale of the tenant's templates and reports, and the time zone of reports",
    access: inTenant("send:notifications"),
    answers: { 200: { etag: true, description: "The settings", schema: NotificationSettings } },
    run: async ({ db, caller }) => settingsAnswer(await readNotificationSettings(db, caller.tenantId)),
  }),
  endpoint("PUT /api/v1/notification-settings", {
    id: "updateNotificationSettings",
    summary:
      "Set the fallback locale of the tenant's templates and reports, and the time zone of reports; null removes either",
    access: inTenant("send:notifications"),
    body: z.object({
      defaultLocale: requiredText(35).nullable(),
      timeZoneId: requiredText(100).nullish().meta({ example: "America/Sao_Paulo" }),
    }).meta({
      id: "UpdateNotificationSettingsRequest",
    }),
    answers: { 200: { etag: true, description: "The settings", schema: NotificationSettings } },
    problems: ["PRECONDITION_FAILED"],
    run: async ({ db, caller, body, call }) =>
      settingsAnswer(await setNotificationSettings(db, caller.tenantId, body, call.ifMatch)),
  }),
] as const;

const settingsAnswer = (settings: NotificationSettings) => ok(settings, { etag: contentTag(settings) });
