import { DAY_MS } from "../../infra/clock.ts";
import { z } from "zod";
import { mailForms } from "../../infra/mail/mail_address.ts";
import { type Sql, transact } from "../../infra/postgres/postgres.ts";
import { recordAudit } from "../audit/audit.ts";
import { invalid, problem } from "../problems/problem.ts";
import type { Caller } from "../rights/caller.ts";
import { firstIdOf, newId } from "../shared/ids.ts";
import { idWithin, readPage } from "../shared/lists.ts";
import type { PagedResult, PageRequest } from "../shared/paging.ts";
import { time } from "../shared/shapes.ts";
import { requireVersion } from "../shared/version.ts";
import { addressKey, addressMistake, storedAddress } from "./addresses.ts";
import type { NotificationChannel } from "./status.ts";
import { tenantKeyOf } from "./tenant_key.ts";

const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;

/** Channels whose addresses can be suppressed. For push, dead devices are deleted; for in-app, users opt out. */
export const SUPPRESSED_CHANNELS = ["Email", "Sms"] as const;
export type SuppressedChannel = typeof SUPPRESSED_CHANNELS[number];

export const SUPPRESSION_REASONS = ["HardBounce", "Unsubscribed", "Complaint", "Manual"] as const;
export type SuppressionReason = typeof SUPPRESSION_REASONS[number];

/** An address that no longer gets a tenant's messages. */
export const Suppression = z.object({
  id: z.guid(),
  channel: z.enum(SUPPRESSED_CHANNELS),
  address: z.string(),
  reason: z.enum(SUPPRESSION_REASONS),
  // The provider's error message, or a note of the person who added it.
  detail: z.string().nullable(),
  notificationId: z.guid().nullable().describe("The message whose bounce caused it"),
  createdBy: z.guid().nullable(),
  createdAt: time,
}).meta({ id: "NotificationSuppressionDto" });
export type Suppression = z.output<typeof Suppression>;

const columns = (q: Sql) => q`id, channel, address, reason, detail, notification_id, created_by, created_at`;

/**
 * A page of the tenant's suppressed addresses, newest first.
 * @param filter.search part of the address, or an address with its domain in ASCII or in Unicode
 * @param filter.from first time of suppression, inclusive
 */
export async function listSuppressions(
  q: Sql,
  filter: {
    tenantId: string | null;
    channel?: SuppressedChannel | undefined;
    search?: string | undefined;
    from?: Date | undefined;
  },
  page: PageRequest,
): Promise<PagedResult<Suppression>> {
  const { tenantId, channel, search, from } = filter;
  const text = search?.normalize("NFKC").replaceAll(INVISIBLE, "").trim() ?? "";
  const forms = mailForms(text).map((form) => q`lower(address) like lower_pattern(${form})`);
  const chosen = q`notification_suppressions
    where tenant_key = ${tenantKeyOf(tenantId)} ${channel ? q`and channel = ${channel}` : q``}
    ${text ? q`and (${forms.reduce((left, right) => q`${left} or ${right}`)})` : q``}
    ${from ? q`and created_at >= ${from} and ${idWithin(q, from, null)}` : q``}`;
  return await readPage(q, { columns: columns(q), from: chosen, order: q`order by id desc` }, page);
}

/** One suppressed address. @throws NOTIFICATION_SUPPRESSION_NOT_FOUND, also for another tenant's address */
export async function readSuppression(
  q: Sql,
  tenantId: string | null,
  id: string,
): Promise<Suppression> {
  const [row] = await q<Suppression[]>`select ${columns(q)} from notification_suppressions
    where id = ${id} and tenant_key = ${tenantKeyOf(tenantId)}`;
  if (!row) throw suppressionNotFound(id);
  return row;
}

/**
 * Suppresses an address for the tenant.
 * @throws VALIDATION_ERROR, NOTIFICATION_SUPPRESSION_ALREADY_EXISTS
 */
export async function addSuppression(
  sql: Sql,
  caller: Caller,
  given: Pick<Suppression, "channel" | "address" | "reason" | "detail">,
): Promise<Suppression> {
  const { channel, reason, detail } = given;
  const address = storedAddress(channel, given.address);
  const mistake = addressMistake(channel, address);
  if (mistake) throw invalid({ address: [mistake] });
  return await transact(sql, async (tx) => {
    const [added] = await tx<Suppression[]>`
      insert into notification_suppressions (id, tenant_key, channel, address, address_key, reason, detail, created_by)
      values (${newId()}, ${tenantKeyOf(caller.tenantId)}, ${channel}, ${address},
        ${addressKey(channel, address)},
        ${reason}, ${detail}, ${caller.userId})
      on conflict (tenant_key, channel, address_key) do nothing returning ${columns(tx)}`;
    if (!added) {
      throw problem(
        "NOTIFICATION_SUPPRESSION_ALREADY_EXISTS",
        `"${address}" was not added: it is already suppressed.`,
      );
    }
    const after = { channel, address, reason, detail };
    await recordAudit(tx, caller, "notification-suppression.add", added.id, { after });
    return added;
  });
}

/** The version of every suppression, for If-Match: a suppression is added and removed, but never changed. */
export const SUPPRESSION_VERSION = 1;

/**
 * Removes an address from the tenant's suppressed addresses.
 * @throws NOTIFICATION_SUPPRESSION_NOT_FOUND, PRECONDITION_FAILED
 */
export async function liftSuppression(
  sql: Sql,
  caller: Caller,
  id: string,
  ifMatch: string | null,
): Promise<void> {
  await transact(sql, async (tx) => {
    const [lifted] = await tx<Suppression[]>`delete from notification_suppressions
      where id = ${id} and tenant_key = ${tenantKeyOf(caller.tenantId)} returning ${columns(tx)}`;
    if (!lifted) throw suppressionNotFound(id);
    requireVersion(ifMatch, SUPPRESSION_VERSION);
    const { channel, address, reason, detail } = lifted;
    await recordAudit(tx, caller, "notification-suppression.lift", id, {
      before: { channel, address, reason, detail },
    });
  });
}

const suppressionNotFound = (id: string) =>
  problem("NOTIFICATION_SUPPRESSION_NOT_FOUND", `There is no suppressed address ${id} in this tenant.`);

/**
 * The reasons why these addresses are suppressed, by `addressKey`. Addresses that are not suppressed are left out, and so are
 * suppressions that this same message caused.
 */
export async function findSuppressions(
  q: Sql,
  { id, tenantId, channel }: { id: string; tenantId: string | null; channel: NotificationChannel },
  addresses: string[],
): Promise<Map<string, SuppressionReason>> {
  if (addresses.length === 0) return new Map();
  const rows = await q<{ addressKey: string; reason: SuppressionReason }[]>`
    select address_key, reason from notification_suppressions
    where tenant_key = ${tenantKeyOf(tenantId)} and channel = ${channel}
      and notification_id is distinct from ${id}
      and address_key = any(${addresses.map((address) => addressKey(channel, address))}::text[])`;
  return new Map(rows.map((row) => [row.addressKey, row.reason]));
}

/** A suppression of a recipient's address. */
export const RecipientSuppression = z.object({
  id: z.guid(),
  reason: z.enum(SUPPRESSION_REASONS),
  detail: z.string().nullable(),
  since: time,
  applies: z.boolean().describe(
    "Whether the message skips the address if it is sent again. False: this message caused it",
  ),
});
export type RecipientSuppression = z.output<typeof RecipientSuppression>;

/** The suppressions of a message's addresses, by `addressKey`. */
export async function readSuppressions(
  q: Sql,
  o: { id: string; tenantId: string | null; channel: NotificationChannel; isAlwaysTried: boolean },
  addresses: string[],
): Promise<Map<string, RecipientSuppression>> {
  const rows = await q<(RecipientSuppression & { addressKey: string })[]>`
    select address_key, id, reason, detail, created_at as since,
      notification_id is distinct from ${o.id} and not ${o.isAlwaysTried} as applies
    from notification_suppressions where tenant_key = ${tenantKeyOf(o.tenantId)} and channel = ${o.channel}
      and address_key = any(${addresses.map((address) => addressKey(o.channel, address))}::text[])`;
  return new Map(rows.map(({ addressKey, ...suppression }) => [addressKey, suppression]));
}

/** Lifts the suppression of a number that has sent STOP. A suppression for another reason stays. */
export async function liftUnsubscribed(q: Sql, tenantId: string | null, number: string): Promise<void> {
  await q`delete from notification_suppressions where tenant_key = ${
    tenantKeyOf(tenantId)
  } and channel = 'Sms'
    and address_key = ${addressKey("Sms", number)} and reason = 'Unsubscribed'`;
}

/** Suppresses addresses that a provider has reported as dead. An existing suppression stays unchanged. */
export async function recordSuppressions(
  q: Sql,
  o: { tenantId: string | null; notificationId: string; channel: SuppressedChannel },
  dead: Pick<Suppression, "address" | "reason" | "detail">[],
): Promise<void> {
  if (dead.length === 0) return;
  await q`
    insert into notification_suppressions (id, tenant_key, channel, address, address_key, reason, detail,
      notification_id)
    select id, ${tenantKeyOf(o.tenantId)}, ${o.channel}::notification_channel, address, address_key, reason,
      detail,
      ${o.notificationId}::uuid
    from unnest(${dead.map(() => newId())}::uuid[], ${dead.map((d) => d.address)}::text[],
      ${dead.map((d) => addressKey(o.channel, d.address))}::text[], ${dead.map((d) => d.reason)}::text[],
      ${dead.map((d) => d.detail)}::text[]) as given (id, address, address_key, reason, detail)
    order by address_key
    on conflict (tenant_key, channel, address_key) do nothing`;
}

const WEEK_MS = 7 * DAY_MS;
/** A day with fewer new suppressions never counts as a rise. */
const MIN_RISE = 10;
/** A day counts as a rise if it has more than this many times the daily average of the week before. */
const RISE_FACTOR = 3;
/** Maximum suppressions of the week before that are counted, so that the query reads few rows. */
const MAX_COUNTED = 10_000;

/**
 * Number of addresses that were suppressed since a time if this is unusually many for the tenant, otherwise 0. The usual
 * causes of a rise are mail to a list of old addresses, and a provider that refuses the sender.
 * @param since the start of the last day
 */
export async function countSuppressionRise(
  q: Sql,
  tenantId: string | null,
  since: Date,
): Promise<number> {
  const key = tenantKeyOf(tenantId);
  const [day, week] = [firstIdOf(since), firstIdOf(new Date(since.getTime() - WEEK_MS))];
  const [row] = await q<{ recent: number; before: number }[]>`
    select
      (select count(*) from notification_suppressions where tenant_key = ${key} and id >= ${day}) as recent,
      (select count(*) from (
        select from notification_suppressions where tenant_key = ${key} and id >= ${week} and id < ${day}
        limit ${MAX_COUNTED}
      ) counted) as before`;
  const { recent = 0, before = 0 } = row ?? {};
  return recent >= MIN_RISE && recent > RISE_FACTOR * before / 7 ? recent : 0;
}
