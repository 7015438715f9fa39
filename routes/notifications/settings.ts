import { z } from "zod";
import { inTenant } from "../../domain/rights/checks.ts";
import { readDefaultLocale } from "../../domain/notifications/templates/locales.ts";
import { setDefaultLocale } from "../../domain/notifications/templates/write.ts";
import { contentTag } from "../../domain/shared/version.ts";
import { ok } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { requiredText } from "../shared/validation.ts";

const area = "Notification templates";
const Settings = z.object({ defaultLocale: z.string().nullable() }).meta({ id: "NotificationSettingsDto" });

/** The settings of a tenant for its templates. */
export const notificationSettingsRoutes = [
  endpoint({
    method: "get",
    path: "/api/v1/notification-settings",
    area,
    id: "readNotificationSettings",
    summary: "Read the fallback locale of the tenant's templates",
    access: inTenant("send:notifications"),
    answers: { 200: { etag: true, description: "The settings", schema: Settings } },
    problems: [],
    run: async ({ db, caller }) => settingsAnswer(await readDefaultLocale(db, caller.tenantId)),
  }),
  endpoint({
    method: "put",
    path: "/api/v1/notification-settings",
    area,
    id: "updateNotificationSettings",
    summary: "Set the fallback locale of the tenant's templates; null removes it",
    access: inTenant("send:notifications"),
    body: z.object({ defaultLocale: requiredText(35).nullable() }).meta({
      id: "UpdateNotificationSettingsRequest",
    }),
    answers: { 200: { etag: true, description: "The settings", schema: Settings } },
    problems: ["PRECONDITION_FAILED"],
    run: async ({ db, caller, body, call }) =>
      settingsAnswer(await setDefaultLocale(db, caller.tenantId, body.defaultLocale, call.ifMatch)),
  }),
] as const;

const settingsAnswer = (defaultLocale: string | null) =>
  ok({ defaultLocale }, { etag: contentTag(defaultLocale) });
