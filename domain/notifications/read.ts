import { z } from "zod";
import { time } from "../shared/shapes.ts";
import { messageMembers, reportedState } from "./list.ts";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { addressKey, shownAddress } from "./addresses.ts";
import { channelDisplay } from "./channels.ts";
import { RECIPIENT_STATUSES, SKIP_REASONS, STATUS_DISPLAY } from "./status.ts";
import { readSuppressions, RecipientSuppression } from "./suppression.ts";
import { ignoresSuppression } from "./suppression_bounces.ts";

export const NotificationDetail = z.object({
  ...messageMembers,
  htmlBody: z.string().nullable().describe("null also if the content is confidential or expired"),
  bodyExpired: z.boolean().describe(
    "The content was deleted after NOTIFICATION_BODY_RETENTION_DAYS; the message cannot be sent again",
  ),
  textBody: z.string().nullable(),
  templateSlug: z.string().nullable(),
  templateLocale: z.string().nullable(),
  templateVersion: z.int().nullable().describe("The template version that the message is rendered from"),
  fromAddress: z.string().nullable(),
  fromName: z.string().nullable(),
  replyTo: z.string().nullable(),
  maxRetries: z.int().describe("Repeats after failures; those after outages do not count"),
  lastError: z.string().nullable(),
  category: z.string().nullable(),
  deliveryState: reportedState,
  recipients: z.array(z.object({
    address: z.string(),
    displayName: z.string().nullable(),
    kind: z.enum(["to", "cc", "bcc"]),
    userId: z.guid().nullable(),
    status: z.enum(RECIPIENT_STATUSES),
    reason: z.enum(SKIP_REASONS).nullable().describe("Reason of status Skipped"),
    deliverAfter: time.nullable().describe("End of the quiet hours it waits for"),
    sentAt: time.nullable(),
    errorMessage: z.string().nullable(),
    deliveryState: reportedState,
    deliveryStateAt: time.nullable(),
    deliveryDetail: z.string().nullable().describe("The provider's reason"),
    suppression: RecipientSuppression.nullable().meta({
      id: "RecipientSuppressionDto",
      description: "Set while the address is suppressed",
    }),
  })),
  attachments: z.array(z.object({
    fileId: z.guid(),
    fileName: z.string(),
    contentType: z.string(),
    inline: z.boolean(),
  })),
  deliveryAttempts: z.array(z.object({
    attemptNumber: z.int(),
    providerName: z.string(),
    isSuccess: z.boolean(),
    durationMs: z.int(),
    attemptedAt: time,
    errorMessage: z.string().nullable(),
  })),
}).meta({ id: "NotificationDetailDto" });
export type NotificationDetail = z.output<typeof NotificationDetail>;

/** A message with its recipients and attempts. The bodies of a confidential message are null. @throws NOTIFICATION_NOT_FOUND */
export async function readNotification(
  q: Sql,
  tenantId: string | null,
  id: string,
): Promise<NotificationDetail> {
  const [row] = await q<
    (Omit<NotificationDetail, "recipients" | "attachments" | "deliveryAttempts"> & {
      isConfidential: boolean;
    })[]
  >`
    select n.id, channel, status, priority, subject, case when not is_confidential then html_body end as html_body,
      case when not is_confidential then text_body end as text_body, template_slug,
      coalesce(n.template_locale, v.locale) as template_locale, coalesce(n.template_version, v.version) as template_version,
      from_address, from_name, reply_to, retry_count, max_retries, last_error, category, scheduled_at, sent_at, created_at,
      delivery_state, body_expired_at is not null as body_expired, is_confidential
    from notifications n left join notification_template_versions v on v.id = n.template_version_id
    where n.id = ${id} and tenant_id is not distinct from ${tenantId}::uuid`;
  if (!row) throw notificationNotFound(id);
  const [recipients, attachments, deliveryAttempts] = await Promise.all([
    q<Omit<NotificationDetail["recipients"][number], "suppression">[]>`
      select address, display_name, kind, user_id, status, reason, deliver_after, sent_at, error_message,
        delivery_state, delivery_state_at, delivery_detail
      from notification_recipients
      where notification_id = ${id} order by id`,
    q<NotificationDetail["attachments"]>`
      select file_id, file_name, content_type, is_inline as inline from notification_attachments
      where notification_id = ${id} order by position`,
    q<NotificationDetail["deliveryAttempts"]>`
      select row_number() over (order by id) as attempt_number, provider_name, is_success, duration_ms, attempted_at,
        error_message
      from notification_attempts where notification_id = ${id} order by id`,
  ]);
  const { isConfidential, ...message } = row;
  const suppressions = await readSuppressions(
    q,
    { id, tenantId, channel: row.channel, isAlwaysTried: ignoresSuppression({ tenantId, isConfidential }) },
    recipients.map(({ address }) => address),
  );
  return {
    ...message,
    channelDisplay: channelDisplay(row.channel),
    statusDisplay: STATUS_DISPLAY[row.status],
    recipients: recipients.map((each) => ({
      ...each,
      address: shownAddress(row.channel, each.address),
      suppression: suppressions.get(addressKey(row.channel, each.address)) ?? null,
    })),
    attachments: [...attachments],
    deliveryAttempts: [...deliveryAttempts],
  };
}

export const notificationNotFound = (id: string) =>
  problem("NOTIFICATION_NOT_FOUND", `There is no notification ${id} in this tenant.`);
