import { mailForms } from "../../infra/mail/mail_address.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { belongsTo, EVERY_TENANT } from "../shared/belongs_to.ts";
import { idWithin, limitTo, stateLiteral } from "../shared/list_order.ts";
import { countList } from "../shared/read_page.ts";
import type { NotificationFilter } from "./counts.ts";
import type { DeliveryState, NotificationStatus } from "./status.ts";
import { tenantKeyOf } from "./tenant_key.ts";

/** Conditions on a message that no stored count covers. */
export interface MessageSearch {
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
export function messageConditions(q: Sql, filter: SearchFilter) {
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
export function pageToRecipients(
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
  const found = isByRecipient(filter)
    ? q`n.id in (select id from (${messagesTo(q, filter)}) found)`
    : messageConditions(q, filter);
  const counts = await q<{ status: NotificationStatus; count: number }[]>`
    select status, count(*) as count from notifications n where ${found} group by status`;
  return new Map(counts.map(({ status, count }) => [status, count]));
}

/** Counts the messages that match. A large total may be up to a second out of date. */
export async function countSearched(q: Sql, filter: SearchFilter): Promise<number> {
  const found = isByRecipient(filter)
    ? q`(${messagesTo(q, filter)}) found`
    : q`notifications n where ${messageConditions(q, filter)}`;
  return await countList(q, found);
}
