import { abandonJob } from "../jobs/control/job_control.ts";
import { PostponeJob } from "../jobs/job_type.ts";
import { eraseAddresses } from "../shared/erase_text.ts";
import { type ErasedPersons, eraseRows, ofTenant, type PersonalData } from "../shared/personal_data.ts";
import { addressKey } from "./addresses.ts";
import { releaseIn } from "./attachments.ts";
import type { NotificationPlatform } from "./platform.ts";
import { ERASED_ADDRESS, type NotificationStatus } from "./status.ts";
import { tenantKeyOf } from "./tenant_key.ts";
import { transact } from "../../infra/postgres/postgres.ts";
import { passOver } from "../shared/batches.ts";

const RECIPIENTS_AT_ONCE = 10_000;
/** An erasure goes on after this time if a message to the person is being sent. */
const SENDING_MS = 2_000;

const loweredOf = (addresses: string[]) => addresses.map((address) => address.toLowerCase());
const keysOf = (addresses: string[]) => addresses.map((address) => addressKey("Email", address));

/** Messages to a person, in-app notifications, preferences, devices and suppressed addresses. */
export const notificationPersonalData: PersonalData<NotificationPlatform> = {
  area: "notifications",
  user: {
    messages: (q, { userId, addresses, tenantId }) =>
      q`
      select n.id, n.tenant_id, n.channel, n.status, r.kind, r.address, r.display_name, r.status as recipient_status,
        r.sent_at, n.subject, case when not n.is_confidential then n.html_body end as html_body,
        case when not n.is_confidential then n.text_body end as text_body, n.template_slug,
        case when not n.is_confidential then n.template_data end as template_data, n.created_at
      from notification_recipients r join notifications n on n.id = r.notification_id
      where (r.user_id = ${userId} or r.user_id is null and lower(r.address) = any(${
        loweredOf(addresses)
      }::text[]))
        and ${ofTenant(q, tenantId, "n.tenant_id")} order by r.id`,
    "in-app": (q, { userId, tenantId }) =>
      q`
      select id, tenant_id, title, body, category, action_url, is_read, read_at, created_at from user_notifications
      where user_id = ${userId} and ${ofTenant(q, tenantId)} order by seq`,
    preferences: (q, { userId }) =>
      q`
      select time_zone_id, quiet_from, quiet_to, categories, has_digest, digest_at, digest_locale, created_at,
        updated_at from notification_preferences where user_id = ${userId}`,
    devices: (q, { userId }) =>
      q`
      select id, platform, created_at from user_devices where user_id = ${userId} order by id`,
    suppressions: (q, { addresses, tenantId }) =>
      q`
      select tenant_key as tenant_id, channel, address, reason, created_at from notification_suppressions
      where address_key = any(${keysOf(addresses)}::text[]) and ${
        ofTenant(q, tenantId, "tenant_key")
      } order by id`,
  },
  async eraseUsers(p, persons) {
    const { sql } = p;
    const { userIds, addresses, beforeId } = persons;
    const sending = await eraseReceived(p, persons);
    // The run that sends a message writes its content and the address when it ends, also to its job and to events.
    if (sending > 0) throw new PostponeJob(`${sending} message(s) to the person are being sent`, SENDING_MS);
    await eraseRows(sql, "user_notifications", sql`user_id = any(${userIds}::uuid[])`);
    for (
      const table of [
        "notification_digests",
        "notification_preferences",
        "user_devices",
        "user_notification_counts",
        "user_notification_streams",
      ]
    ) {
      await sql`delete from ${sql(table)} where user_id = any(${userIds}::uuid[])`;
    }
    await sql`delete from notification_suppressions where address_key = any(${keysOf(addresses)}::text[])
      and id < ${beforeId}`;
    await eraseAddresses(sql, persons, [
      {
        table: "notifications",
        columns: {
          subject: "text",
          html_body: "text",
          text_body: "text",
          template_data: "jsonb",
          push_data: "jsonb",
          reply_to: "text",
          last_error: "text",
        },
      },
      { table: "notification_attempts", columns: { error_message: "text" } },
      // An answer of a mail server for one recipient may name the others.
      { table: "notification_recipients", columns: { error_message: "text", delivery_detail: "text" } },
      { table: "notification_suppressions", columns: { detail: "text" } },
    ]);
  },
  tenant: {
    messages: (q, tenantId) =>
      q`
      select n.id, n.channel, n.status, n.priority, n.subject,
        case when not n.is_confidential then n.html_body end as html_body,
        case when not n.is_confidential then n.text_body end as text_body, n.template_slug, n.created_at, n.sent_at,
        (select json_agg(json_build_object('kind', r.kind, 'address', r.address, 'displayName', r.display_name,
          'status', r.status)) from notification_recipients r where r.notification_id = n.id) as recipients
      from notifications n where n.tenant_id = ${tenantId} order by n.created_at, n.id`,
    templates: (q, tenantId) =>
      q`
      select id, slug, name, locale, subject_template, html_body_template, text_body_template, version, created_at
      from notification_templates where tenant_id = ${tenantId} order by slug, locale`,
    "in-app": (q, tenantId) =>
      q`
      select id, user_id, title, body, category, action_url, is_read, created_at from user_notifications
      where tenant_id = ${tenantId} order by id`,
    suppressions: (q, tenantId) =>
      q`
      select channel, address, reason, detail, created_at from notification_suppressions
      where tenant_key = ${tenantId} order by id`,
  },
  async eraseTenant({ sql }, tenantId) {
    const key = tenantKeyOf(tenantId);
    await eraseRows(sql, "notifications", sql`tenant_id = ${tenantId}`);
    await eraseRows(sql, "user_notifications", sql`tenant_id = ${tenantId}`);
    await sql`delete from user_devices where only_tenant_id = ${tenantId}`;
    await sql`delete from notification_digests where tenant_key = ${key}`;
    await eraseRows(sql, "notification_suppressions", sql`tenant_key = ${key}`);
    await sql`delete from notification_template_versions where template_id in (
      select id from notification_templates where tenant_id = ${tenantId})`;
    await sql`delete from notification_templates where tenant_id = ${tenantId}`;
    await sql`delete from notification_settings where tenant_id = ${tenantId}`;
    for (const table of ["notification_counts", "notification_hour_counts"]) {
      await sql`delete from ${sql(table)} where tenant_key = ${key}`;
    }
  },
};

type ErasingPlatform = Pick<NotificationPlatform, "sql" | "attachedFiles">;

/**
 * Erases the person as a recipient. If a message has no other recipient, its content is erased too, and it is cancelled if
 * it was not sent yet. A message to several keeps its content for the others. Reads all recipients in the order of their ids:
 * an index on addresses would cost every message. A message that is being sent is left out.
 * @returns how many are left out
 */
async function eraseReceived(
  p: ErasingPlatform,
  { userIds, addresses, beforeId }: ErasedPersons,
): Promise<number> {
  const { sql } = p;
  let sending = 0;
  await passOver(RECIPIENTS_AT_ONCE, async (after) => {
    const rows = await sql<{ id: string; notificationId: string; isTheirs: boolean }[]>`
      select id, notification_id,
        (user_id = any(${userIds}::uuid[]) or lower(address) = any(${userIds}::text[])
          or lower(address) = any(${loweredOf(addresses)}::text[]) and id < ${beforeId}) is true as is_theirs
      from notification_recipients where id > ${after} order by id limit ${RECIPIENTS_AT_ONCE}`;
    const theirs = rows.filter(({ isTheirs }) => isTheirs);
    for (const { id, notificationId } of theirs) {
      if (!await eraseRecipient(p, id, notificationId)) sending++;
    }
    return rows;
  });
  return sending;
}

/** @returns false if the message is being sent */
async function eraseRecipient(p: ErasingPlatform, id: string, notificationId: string): Promise<boolean> {
  return await transact(p.sql, async (tx) => {
    const [message] = await tx<{ jobId: string | null; status: NotificationStatus }[]>`
      select job_id, status from notifications where id = ${notificationId} for update`;
    if (message?.status === "Sending") return false;
    await tx`
      update notification_recipients set address = ${ERASED_ADDRESS}, display_name = null, error_message = null, user_id = null,
        delivery_detail = null,
        follows_user = false, status = case when status in ('Owed', 'Collected') then 'Skipped' else status end,
        reason = case when status in ('Owed', 'Collected') then 'NoAddress' else reason end
      where id = ${id}`;
    const others = await tx`select from notification_recipients
      where notification_id = ${notificationId} and address <> ${ERASED_ADDRESS} limit 1`;
    if (others.length > 0) return true;
    await releaseIn(p, tx, notificationId);
    await tx`delete from notification_attachments where notification_id = ${notificationId}`;
    await tx`update notification_attempts set error_message = null where notification_id = ${notificationId}`;
    await tx`
      update notifications set subject = null, html_body = null, text_body = null, template_data = null,
        push_data = null, action_url = null, reply_to = null, last_error = null, updated_at = now(),
        body_expired_at = coalesce(body_expired_at, now()),
        status = case when status in ('Pending', 'Queued', 'Scheduled', 'Failed') then 'Cancelled' else status end
      where id = ${notificationId}`;
    if (message?.jobId) await abandonJob(tx, message.jobId);
    return true;
  });
}
