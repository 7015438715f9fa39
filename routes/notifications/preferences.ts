import { z } from "zod";
import { byPerson, forBound, forSelf, signedIn } from "../../domain/rights/checks.ts";
import { requireNoOtherTenant } from "../../domain/rights/tenant_sign_in.ts";
import { requireOwner } from "../../domain/notifications/in_app/messages.ts";
import {
  Preferences,
  PreferencesChange,
  readPreferences,
  writePreferences,
} from "../../domain/notifications/preferences.ts";
import { okVersioned } from "../shared/answer.ts";
import { endpointsIn } from "../shared/endpoint.ts";
import { uuid } from "../../domain/shared/shapes.ts";

const endpoint = endpointsIn("Notifications");

const path = "/api/v1/user-notifications/preferences";
const access = forBound(forSelf(byPerson(signedIn)));
const query = z.object({ userId: uuid });
/** Preferences of a user: categories, channels, quiet hours and digest. */
export const preferenceRoutes = [
  endpoint(`GET ${path}`, {
    id: "readNotificationPreferences",
    access,
    query,
    summary: "Read a user's categories, channels, quiet hours and digest",
    answers: { 200: { etag: true, description: "The preferences", schema: Preferences } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN"],
    async run({ db, caller, query: { userId } }) {
      requireOwner(caller, userId);
      const { preferences, version } = await readPreferences(db, userId);
      return okVersioned(preferences, version);
    },
  }),
  endpoint(`PUT ${path}`, {
    id: "writeNotificationPreferences",
    access,
    query,
    summary: "Change a user's preferences; a category that `categories` omits is on for every channel",
    content: { json: PreferencesChange },
    answers: { 200: { etag: true, description: "The preferences", schema: Preferences } },
    problems: ["NOTIFICATION_INAPP_FORBIDDEN", "USER_NOT_FOUND", "PRECONDITION_FAILED"],
    async run({ db, caller, query: { userId }, call }) {
      requireOwner(caller, userId);
      await requireNoOtherTenant(db, caller);
      const given = await call.readJson(PreferencesChange);
      const { preferences, version } = await writePreferences(db, userId, given, call.ifMatch);
      return okVersioned(preferences, version);
    },
  }),
] as const;
