import { z } from "zod";
import { byPerson, forSelf, signedIn } from "../../domain/rights/checks.ts";
import { channelMember, channelNames } from "../../domain/notifications/channels.ts";
import { requireOwner } from "../../domain/notifications/ownership.ts";
import { readPreferences, writePreferences } from "../../domain/notifications/preferences.ts";
import { okVersioned } from "../shared/answer.ts";
import { endpoint } from "../shared/endpoint.ts";
import { uuid } from "../shared/validation.ts";
import { category } from "./shapes.ts";

const path = "/api/v1/user-notifications/preferences";
const area = "Notifications";
const access = forSelf(byPerson(signedIn));
const query = z.object({ userId: uuid });
const MAX_CATEGORIES = 200;
const clock = z.string().meta({ description: "HH:MM in the user's time zone", example: "22:00" });
const wanted = z.boolean().default(true);

/** An object with a member per channel. It is lazy, because extensions are loaded after this module. */
const perChannel = <T extends z.ZodType>(member: T) =>
  z.lazy(() => {
    const members = channelNames.map((name) => [channelMember(name), member]);
    return z.object(Object.fromEntries(members) as Record<"email" | "push" | "inApp" | "sms", T>);
  });

const PreferencesRequest = z.object({
  timeZoneId: z.string().min(1).max(100).meta({ example: "Europe/Lisbon" }),
  quietHours: z.object({ from: clock, to: clock }).nullish(),
  categories: z.array(z.object({
    category,
    channels: perChannel(wanted),
  })).max(MAX_CATEGORIES).nullish().transform((value) => value === null ? [] : value),
  digest: z.object({
    isEnabled: z.boolean().optional(),
    at: clock.optional(),
    locale: z.string().max(35).nullish(),
  }).nullish().transform((value) => value === null ? { isEnabled: false, at: "08:00", locale: null } : value),
}).meta({
  id: "NotificationPreferencesRequest",
  description: "Omitted members keep their values; null resets them",
});

const NotificationPreferencesDto = z.object({
  userId: z.guid(),
  timeZoneId: z.string(),
  quietHours: z.object({ from: z.string(), to: z.string() }).nullable(),
  categories: z.array(z.object({
    category: z.string(),
    channels: perChannel(z.boolean()),
  })),
  digest: z.object({ isEnabled: z.boolean(), at: z.string(), locale: z.string().nullable() }),
}).meta({ id: "NotificationPreferencesDto" });

/** Preferences of a user: categories, channels, quiet hours and digest. */
export const preferenceRoutes = [
  endpoint({
    method: "get",
    path,
    area,
    id: "readNotificationPreferences",
    access,
    query,
    summary: "Read a user's categories, channels, quiet hours and digest",
    answers: { 200: { etag: true, description: "The preferences", schema: NotificationPreferencesDto } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN"],
    async run({ db, caller, query: { userId } }) {
      requireOwner(caller, userId);
      const { preferences, version } = await readPreferences(db, userId);
      return okVersioned(preferences, version);
    },
  }),
  endpoint({
    method: "put",
    path,
    area,
    id: "writeNotificationPreferences",
    access,
    query,
    summary: "Change a user's preferences; a category that `categories` omits is on for every channel",
    content: { json: PreferencesRequest },
    answers: { 200: { etag: true, description: "The preferences", schema: NotificationPreferencesDto } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN", "USER_NOT_FOUND", "PRECONDITION_FAILED"],
    async run({ db, caller, query: { userId }, call }) {
      requireOwner(caller, userId);
      const given = await call.readJson(PreferencesRequest);
      const { preferences, version } = await writePreferences(db, { userId, ...given }, call.ifMatch);
      return okVersioned(preferences, version);
    },
  }),
] as const;
