import { z } from "zod";
import { time } from "../shared/shapes.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { belongsTo, countList, EVERY_TENANT, idWithin, limitTo, stateLiteral } from "../shared/lists.ts";
import { offsetOf, type PagedResult, pagedResult, type PageRequest } from "../shared/paging.ts";
import { shownAddress } from "./addresses.ts";
import { channelDisplay, channelName } from "./channels.ts";
import { countByStatus, type NotificationFilter, totalOf } from "./counts.ts";
import {
  DELIVERY_STATES,
  type DeliveryState,
  NOTIFICATION_PRIORITIES,
  type NotificationStatus,
  STATUS_DISPLAY,
  STATUSES,
} from "./status.ts";
import { mailForms } from "../../infra/mail/mail_address.ts";
import { tenantKeyOf } from "./tenant_key.ts";

/** Members of a message in lists and alone. */
export const messageMembers = {
  id: z.guid(),
  channel: channelName,
  channelDisplay: z.string(),
  status: z.enum(STATUSES),
  statusDisplay: z.string(),
  priority: z.enum(NOTIFICATION_PRIORITIES),
  subject: z.string().nullable(),
  retryCount: z.int().describe("Repeated attempts, whatever the reason"),
  scheduledAt: time.nullable(),
  sentAt: time.nullable(),
  createdAt: time,
};

export const reportedState = z.enum(DELIVERY_STATES).nullable().describe(
  "What the provider reported after it had accepted the message; of several reports, the strongest",
);

export const NotificationSummary = z.object({
  ...messageMembers,
  tenantId: z.guid().nullable(),
  // Null if the address is not shown or erased.
  recipient: z.string().nullable().describe("The first recipient"),
  recipientCount: z.int(),
  templateSlug: z.string().nullable(),
  category: z.string().nullable(),
  deliveryState: reportedState,
})
  .meta({ id: "NotificationSummaryDto" });
export type NotificationSummary = z.output<typeof NotificationSummary>;

type NotificationRow = Omit<NotificationSummary, "channelDisplay" | "statusDisplay">;

/** From this offset on, a page is read from the nearer end of the list. */
const DEEP_OFFSET = 1_000;

/** A page of messages, newest first. Those found by recipient, and those of all tenants, are sorted by id instead of time. */
export async function listNotifications(
  q: Sql,
  filter: SearchFilter,
  page: PageRequest,
): Promise<PagedResult<NotificationSummary>> {
  const offset = offsetOf(page);
  const newest = { order: "desc", offset, limit: page.pageSize } as const;
  const counting = isSearch(filter) ? countSearched(q, filter) : countByStatus(q, filter).then(totalOf);
  const [rows, count] = offset < DEEP_OFFSET
    ? await Promise.all([readRows(q, filter, newest), counting])
    : [await readRows(q, filter, nearerEnd(newest, await counting)), await counting];
  const items = rows.map((row) => ({
    ...row,
    recipient: row.recipient === null ? null : shownAddress(row.channel, row.recipient),
    channelDisplay: channelDisplay(row.channel),
    statusDisplay: STATUS_DISPLAY[row.status],
  }));
  return pagedResult(items, count, page);
}

interface RowRange {
  order: "asc" | "desc";
  offset: number;
  limit: number;
}

/** Counts the offset of a range from the oldest row, in ascending order, if that end is nearer. */
function nearerEnd(newest: RowRange, total: number): RowRange {
  const { offset, limit } = newest;
  const after = total - offset - limit;
  if (offset <= after) return newest;
  return { order: "asc", offset: Math.max(0, after), limit: Math.max(0, Math.min(limit, total - offset)) };
}

/** Rows, newest first. Their ids are found first, by index-only scans. */
async function readRows(q: Sql, filter: SearchFilter, range: RowRange): Promise<NotificationRow[]> {
  const isById = isByRecipient(filter) || filter.tenantId === EVERY_TENANT;
  const page = isByRecipient(filter) ? pageToRecipients(q, filter, range) : pageOfMessages(q, filter, range);
  return await q`
    select n.id, n.tenant_id, n.channel, n.status, n.priority, n.subject, n.recipient_count, n.retry_count, n.scheduled_at,
      n.sent_at, n.created_at, n.template_slug, n.category, n.delivery_state, (select r.address
        from notification_recipients r where r.notification_id = n.id order by r.id limit 1) as recipient
    from (${page}) page join notifications n using (id)
    order by ${isById ? q`` : q`n.created_at desc,`} n.id desc`;
}

/**
 * SQL for the ids of a page of messages in the order of time. An index holds the messages of a channel and a status in this
 * order, so a list of a channel alone merges its statuses.
 */
function pageOfMessages(q: Sql, filter: SearchFilter, { order, offset, limit }: RowRange) {
  const direction = order === "asc" ? q`asc` : q`desc`;
  const isOfAll = filter.tenantId === EVERY_TENANT; // indexes by time are those of a tenant
  const ordered = q`order by ${isOfAll ? q`` : q`created_at ${direction},`} id ${direction}`;
  const pageOf = (status: NotificationStatus | undefined, range: { offset: number; limit: number }) =>
    q`select id, created_at from notifications n where ${messageConditions(q, { ...filter, status })}
      ${ordered} ${limitTo(q, range)}`;
  if (isOfAll || !filter.channel || filter.status || isSearch(filter)) {
    return pageOf(filter.status, { offset, limit });
  }
  const firsts = STATUSES.map((status) => q`(${pageOf(status, { offset: 0, limit: offset + limit })})`)
    .reduce((all, more) => q`${all} union all ${more}`);
  return q`select id from (${firsts}) firsts ${ordered} ${limitTo(q, { offset, limit })}`;
}

/** Conditions on a message that no stored count covers. */
interface MessageSearch {
  /** The beginning of a recipient's address, in any letter case; the domain in ASCII or in Unicode. */
  recipient?: string | undefined;
  /** A user who is a recipient. */
  userId?: string | undefined;
  templateSlug?: string | undefined;
  /** In any letter case. */
  category?: string | undefined;
  deliveryState?: DeliveryState | undefined;
}

export type SearchFilter = NotificationFilter & MessageSearch;

/** The last character of Unicode: no address that begins with a text sorts after the text and this. */
const LAST = "\u{10ffff}";
/** The index holds this many characters of an address. */
const INDEXED_CHARACTERS = 320;

/** True if the filter has a condition that no stored count covers. */
export const isSearch = (
  { recipient, userId, templateSlug, category, deliveryState }: MessageSearch,
): boolean => [recipient, userId, templateSlug, category, deliveryState].some((value) => value !== undefined);

/** True if the messages are found by their recipients. */
export const isByRecipient = ({ recipient, userId }: MessageSearch): boolean =>
  recipient !== undefined || userId !== undefined;

/** SQL conditions on `notifications n` for everything but the recipients. */
function messageConditions(q: Sql, filter: SearchFilter) {
  const { tenantId, channel, status, fromDate, toDate, templateSlug, category, deliveryState } = filter;
  return q`${belongsTo(q, tenantId)}
    ${channel ? q`and channel = ${channel}` : q``} ${
    status ? q`and status = ${stateLiteral(q, status)}` : q``
  }
    ${fromDate ? q`and created_at >= ${fromDate}` : q``} ${toDate ? q`and created_at <= ${toDate}` : q``}
    ${templateSlug === undefined ? q`` : q`and template_slug = ${templateSlug}`}
    ${category === undefined ? q`` : q`and lower(category) = lower(${category})`}
    ${deliveryState ? q`and delivery_state = ${stateLiteral(q, deliveryState)}` : q``}
    ${tenantId === EVERY_TENANT ? q`and ${idWithin(q, fromDate ?? null, toDate ?? null)}` : q``}`;
}

/** SQL conditions on `notification_recipients`: an index on the tenant and the address or user serves them. */
function recipientConditions(q: Sql, { tenantId, recipient, userId }: SearchFilter) {
  const forms = recipient === undefined
    ? []
    : mailForms(recipient.toLowerCase()).map((form) => beginsWith(q, form));
  return q`${belongsTo(q, tenantKeyOf(tenantId), "tenant_key")} ${userId ? q`and user_id = ${userId}` : q``}
    ${forms.length > 0 ? q`and (${forms.reduce((left, right) => q`${left} or ${right}`)})` : q``}`;
}

function beginsWith(q: Sql, text: string) {
  const address = q`left(lower(address), 320)`;
  const prefix = text.slice(0, INDEXED_CHARACTERS);
  return q`${address} ~>=~ ${prefix} and ${address} ~<~ ${prefix + LAST}`;
}

/** True if only the recipients decide, so that `notifications` need not be read. */
const isOnlyByRecipient = ({ tenantId: _, recipient: __, userId: ___, ...rest }: SearchFilter): boolean =>
  Object.values(rest).every((value) => value === undefined);

/** SQL for the ids of the messages to recipients. For few matches it starts at the recipients, for many at the messages. */
function messagesTo(q: Sql, filter: SearchFilter) {
  const found = q`select notification_id from notification_recipients where ${
    recipientConditions(q, filter)
  }`;
  if (isOnlyByRecipient(filter)) return q`select distinct f.notification_id as id from (${found}) f`;
  return q`select n.id from notifications n where ${messageConditions(q, filter)} and n.id in (${found})`;
}

/** SQL for the ids of a page of the messages to recipients, newest or oldest first. */
function pageToRecipients(
  q: Sql,
  filter: SearchFilter,
  { order, ...page }: { order: "asc" | "desc"; offset: number; limit: number },
) {
  const direction = order === "asc" ? q`asc` : q`desc`;
  return q`select id from (${messagesTo(q, filter)}) found order by id ${direction} ${limitTo(q, page)}`;
}

/** Counts the messages that match by status. */
export async function countSearchedByStatus(
  q: Sql,
  filter: SearchFilter,
): Promise<Map<NotificationStatus, number>> {
  const counts = await q<{ status: NotificationStatus; count: number }[]>`
    select status, count(*) as count from notifications n where ${
    messageConditions(q, filter)
  } group by status`;
  return new Map(counts.map(({ status, count }) => [status, count]));
}

/** Counts the messages to recipients by status and by the report of a provider. Reads each of them once. */
export const countMessagesTo = (
  q: Sql,
  filter: SearchFilter,
): Promise<{ status: NotificationStatus; state: DeliveryState | null; count: number }[]> =>
  q`select status, delivery_state as state, count(*) as count from notifications n
    where n.id in (select id from (${messagesTo(q, filter)}) found) group by 1, 2`;

/** Counts the messages that match. A large total may be up to a second out of date. */
export async function countSearched(q: Sql, filter: SearchFilter): Promise<number> {
  const found = isByRecipient(filter)
    ? q`(${messagesTo(q, filter)}) found`
    : q`notifications n where ${messageConditions(q, filter)}`;
  return await countList(q, found);
}
