import { z } from "zod";
import { type Sql, transact, type Tx } from "../../infra/postgres/postgres.ts";
import { firstInstantOf, scheduleMistakes } from "../jobs/cron.ts";
import { type FieldErrors, invalid, problem } from "../problems/problem.ts";
import { findUsersInTenant, lockUnerased } from "../rights/user_lookup.ts";
import { requireVersion } from "../shared/version.ts";
import { canonicalLocale } from "../templates/locales.ts";
import { channelMember, channelNames } from "./channels.ts";
import type { NotificationChannel } from "./status.ts";

/** In NFC: the preferences of a user name the categories too. */
export const category = z.string().trim().normalize("NFC").min(1).max(100);

const MAX_CATEGORIES = 200;
const clock = z.string().meta({ description: "HH:MM in the user's time zone", example: "22:00" });
const isWanted = z.boolean().default(true);

/** True for each channel that the user wants, by `channelMember`. A channel that is left out is wanted. */
export type ChannelChoices =
  & Record<"email" | "push" | "inApp" | "sms", boolean>
  & Partial<Record<string, boolean>>;

/** An object with a member per channel. It is lazy, because extensions are loaded after this module. */
const perChannel = <T extends z.ZodType>(member: T) =>
  z.lazy(() => {
    const members = channelNames.map((name) => [channelMember(name), member]);
    return z.object(Object.fromEntries(members) as Record<"email" | "push" | "inApp" | "sms", T>);
  });

/** A change of preferences. A member that is left out stays unchanged. */
export const PreferencesChange = z.object({
  timeZoneId: z.string().min(1).max(100).meta({ example: "Europe/Lisbon" }),
  quietHours: z.object({ from: clock, to: clock }).nullish(),
  categories: z.array(z.object({
    category,
    channels: perChannel(isWanted),
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
type PreferencesChange = z.output<typeof PreferencesChange>;

/** A user's notification preferences. Times are `HH:MM` in the user's time zone. */
export const Preferences = z.object({
  userId: z.guid(),
  timeZoneId: z.string(),
  quietHours: z.object({ from: z.string(), to: z.string() }).nullable(),
  categories: z.array(z.object({
    category: z.string(),
    channels: perChannel(z.boolean()),
  })),
  digest: z.object({ isEnabled: z.boolean(), at: z.string(), locale: z.string().nullable() }),
}).meta({ id: "NotificationPreferencesDto" });
export type Preferences = z.output<typeof Preferences>;

interface PreferenceRow {
  timeZoneId: string;
  quietFrom: number | null;
  quietTo: number | null;
  categories: Record<string, Record<NotificationChannel, boolean>>;
  hasDigest: boolean;
  digestAt: number;
  digestLocale: string | null;
  version: number;
}

const DEFAULTS: PreferenceRow = {
  timeZoneId: "UTC",
  quietFrom: null,
  quietTo: null,
  categories: {},
  hasDigest: false,
  digestAt: 8 * 60,
  digestLocale: null,
  version: 0,
};

/** A user's preferences and their version. A user who has never set any has the defaults and version 0. */
export async function readPreferences(
  q: Sql,
  userId: string,
): Promise<{ preferences: Preferences; version: number }> {
  const row = await readRow(q, userId) ?? DEFAULTS;
  return { preferences: preferencesOf(userId, row), version: row.version };
}

/**
 * Changes a user's preferences. They apply to every message that is not delivered yet.
 * @throws VALIDATION_ERROR, USER_NOT_FOUND, PRECONDITION_FAILED
 */
export async function writePreferences(
  sql: Sql,
  userId: string,
  given: PreferencesChange,
  ifMatch: string | null,
): Promise<{ preferences: Preferences; version: number }> {
  return await transact(sql, async (tx) => {
    const version = await lockVersion(tx, userId);
    const [user] = await findUsersInTenant(tx, null, [userId]);
    if (!user) {
      throw problem("USER_NOT_FOUND", `The preferences were not changed: there is no active user ${userId}.`);
    }
    requireVersion(ifMatch, version);
    const { preferences: before } = await readPreferences(tx, userId);
    const { timeZoneId, quietHours = before.quietHours, categories = before.categories } = given;
    const {
      isEnabled = before.digest.isEnabled,
      at = before.digest.at,
      locale = before.digest.locale,
    } = given.digest ?? {};
    const digest = { isEnabled, at, locale };
    const row = validatedRow({ userId, timeZoneId, quietHours, categories, digest });
    await tx`
      update notification_preferences p set time_zone_id = g.time_zone_id, quiet_from = g.quiet_from,
        quiet_to = g.quiet_to, has_digest = g.has_digest, digest_at = g.digest_at,
        digest_locale = g.digest_locale, categories = g.categories, version = version + 1, updated_at = now()
      from (select ${row.timeZoneId}::text as time_zone_id, ${row.quietFrom}::int as quiet_from,
        ${row.quietTo}::int as quiet_to, ${row.hasDigest}::boolean as has_digest, ${row.digestAt}::int as digest_at,
        ${row.digestLocale}::text as digest_locale, (select coalesce(jsonb_object_agg(lower(key), value), '{}')
          from jsonb_each(${JSON.stringify(row.categories)}::text::jsonb)) as categories) g
      where user_id = ${userId} and (version = 0 or
        (p.time_zone_id, p.quiet_from, p.quiet_to, p.has_digest, p.digest_at, p.digest_locale, p.categories)
        is distinct from (g.time_zone_id, g.quiet_from, g.quiet_to, g.has_digest, g.digest_at, g.digest_locale,
        g.categories))`;
    return await readPreferences(tx, userId);
  });
}

/** Turns one category off on one channel. Idempotent. Does nothing for an erased user. */
export async function optOut(
  sql: Sql,
  userId: string,
  category: string,
  channel: NotificationChannel,
): Promise<void> {
  await transact(sql, async (tx) => {
    await lockVersion(tx, userId);
    await tx`
      update notification_preferences set version = version + 1, updated_at = now(),
        categories = jsonb_set(categories, array[lower(${category})],
          coalesce(categories -> lower(${category}), '{"Email": true, "Push": true, "InApp": true, "Sms": true}')
            || jsonb_build_object(${channel}::text, false))
      where user_id = ${userId}
        and categories #>> array[lower(${category}), ${channel}] is distinct from 'false'`;
  });
}

/**
 * Locks the user's row and returns its version. Inserts the row with version 0 if it is missing, unless the user was erased:
 * links in their mails are valid for a year.
 */
async function lockVersion(tx: Tx, userId: string): Promise<number> {
  if (!await lockUnerased(tx, userId)) return 0;
  await tx`insert into notification_preferences (user_id, version) values (${userId}, 0)
    on conflict (user_id) do nothing`;
  const [row] = await tx<{ version: number }[]>`
    select version from notification_preferences where user_id = ${userId} for update`;
  return row?.version ?? 0;
}

async function readRow(q: Sql, userId: string): Promise<PreferenceRow | undefined> {
  const [row] = await q<PreferenceRow[]>`
    select time_zone_id, quiet_from, quiet_to, categories, has_digest, digest_at, digest_locale, version
    from notification_preferences where user_id = ${userId}`;
  return row;
}

/** The language a user has chosen for digests; null: the tenant's default. */
export async function readDigestLocale(q: Sql, userId: string): Promise<string | null> {
  return (await readRow(q, userId))?.digestLocale ?? null;
}

/** The categories, in lower case, that the user does not want by email. */
export async function readOptedOut(q: Sql, userId: string): Promise<Set<string>> {
  const { categories } = await readRow(q, userId) ?? DEFAULTS;
  return new Set(Object.entries(categories).filter(([, channels]) => !channels.Email).map(([name]) => name));
}

function preferencesOf(userId: string, row: PreferenceRow): Preferences {
  const { quietFrom, quietTo } = row;
  return {
    userId,
    timeZoneId: row.timeZoneId,
    quietHours: quietFrom === null || quietTo === null
      ? null
      : { from: clockTime(quietFrom), to: clockTime(quietTo) },
    categories: Object.entries(row.categories).map(([category, stored]) => ({
      category,
      channels: Object.fromEntries(
        channelNames.map((name) => [channelMember(name), stored[name] ?? true]),
      ) as ChannelChoices,
    })).sort((a, b) => a.category < b.category ? -1 : 1),
    digest: { isEnabled: row.hasDigest, at: clockTime(row.digestAt), locale: row.digestLocale },
  };
}

/** @throws VALIDATION_ERROR */
function validatedRow({ timeZoneId, quietHours, categories, digest }: Preferences): PreferenceRow {
  const { timeZoneId: zone } = scheduleMistakes("0 0 * * *", timeZoneId);
  const errors: FieldErrors = zone ? { timeZoneId: zone } : {};
  const minutes = (clock: string, field: string): number => {
    const found = minutesOf(clock);
    if (found === null) errors[field] = [`expected a time such as 07:30, found "${clock.slice(0, 40)}"`];
    return found ?? 0;
  };
  const quietFrom = quietHours && minutes(quietHours.from, "quietHours.from");
  const quietTo = quietHours && minutes(quietHours.to, "quietHours.to");
  if (quietHours && quietFrom === quietTo) {
    errors["quietHours.to"] ??= ["expected a different time than quietHours.from"];
  }
  const digestAt = minutes(digest.at, "digest.at");
  // The database lowercases the stored names, because it also lowercases the categories of messages.
  const named = new Map<string, Record<NotificationChannel, boolean>>();
  const folded = new Set<string>();
  categories.forEach(({ category, channels }, index) => {
    const name = category.toLowerCase();
    const wanted: ChannelChoices = channels;
    if (folded.has(name)) errors[`categories.${index}.category`] = [`"${category}" occurs twice`];
    folded.add(name);
    named.set(
      category,
      Object.fromEntries(channelNames.map((name) => [name, wanted[channelMember(name)] ?? true])),
    );
  });
  if (Object.keys(errors).length > 0) throw invalid(errors);
  const digestLocale = digest.locale === null ? null : canonicalLocale(digest.locale, "digest.locale");
  return {
    timeZoneId,
    quietFrom,
    quietTo,
    categories: Object.fromEntries(named),
    hasDigest: digest.isEnabled,
    digestAt,
    digestLocale,
    version: 0,
  };
}

const MINUTES_A_DAY = 24 * 60;

/**
 * The end of the quiet hours that contain `now`; null if `now` is outside of quiet hours. They are in minutes of the day in
 * a user's time zone. If `to` is less than `from`, they last past midnight. When clocks change: an end
 * time that is skipped becomes the end of the gap. If an end time occurs twice, the first one after `now` counts.
 */
export function quietUntil(
  { timeZoneId, from, to }: { timeZoneId: string; from: number; to: number },
  now: Date,
): Date | null {
  const local = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(timeZoneId);
  const minute = local.hour * 60 + local.minute;
  const isQuiet = from < to ? minute >= from && minute < to : minute >= from || minute < to;
  if (!isQuiet) return null;
  const day = minute < to ? local.toPlainDate() : local.toPlainDate().add({ days: 1 });
  const end = day.toPlainDateTime(Temporal.PlainTime.from({ hour: Math.floor(to / 60), minute: to % 60 }));
  const first = firstInstantOf(end, timeZoneId);
  if (first.epochMilliseconds > now.getTime()) return new Date(first.epochMilliseconds);
  const second = end.toZonedDateTime(timeZoneId, { disambiguation: "later" });
  return second.epochMilliseconds > now.getTime() ? new Date(second.epochMilliseconds) : null;
}

/** Formats minutes of the day as `HH:MM`. */
const clockTime = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;

/** Parses `HH:MM` to minutes of the day; null if it is not a valid time. */
export function minutesOf(clock: string): number | null {
  const [, hours, minutes] = /^(\d{2}):(\d{2})$/.exec(clock) ?? [];
  if (hours === undefined || Number(minutes) > 59) return null;
  const total = Number(hours) * 60 + Number(minutes);
  return total < MINUTES_A_DAY ? total : null;
}
