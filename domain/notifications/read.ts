import type { Sql } from "../../infra/postgres/postgres.ts";
import { problem } from "../problems/problem.ts";
import { addressKey, shownAddress } from "./addresses.ts";
import { channelDisplay } from "./channels.ts";
import {
  type DeliveryState,
  type NotificationChannel,
  type NotificationPriority,
  type NotificationStatus,
  type RecipientStatus,
  type SkipReason,
  STATUS_DISPLAY,
} from "./status.ts";
import { readSuppressions, type RecipientSuppression } from "./suppression.ts";
import { ignoresSuppression } from "./suppression_bounces.ts";

interface NotificationRow {
  id: string;
  channel: NotificationChannel;
  status: NotificationStatus;
  priority: NotificationPriority;
  subject: string | null;
  htmlBody: string | null;
  textBody: string | null;
  templateSlug: string | null;
  templateLocale: string | null;
  templateVersion: number | null;
  fromAddress: string | null;
  fromName: string | null;
  replyTo: string | null;
  retryCount: number;
  maxRetries: number;
  lastError: string | null;
  category: string | null;
  scheduledAt: Date | null;
  sentAt: Date | null;
  createdAt: Date;
  deliveryState: DeliveryState | null;
  /** The texts and the template data were deleted at the end of their retention. */
  bodyExpired: boolean;
}

export interface NotificationDetail extends NotificationRow {
  channelDisplay: string;
  statusDisplay: string;
  recipients: {
    address: string;
    displayName: string | null;
    kind: "to" | "cc" | "bcc";
    userId: string | null;
    status: RecipientStatus;
    reason: SkipReason | null;
    deliverAfter: Date | null;
    sentAt: Date | null;
    errorMessage: string | null;
    deliveryState: DeliveryState | null;
    deliveryStateAt: Date | null;
    deliveryDetail: string | null;
    /** Set while the address is suppressed. */
    suppression: RecipientSuppression | null;
  }[];
  attachments: { fileId: string; fileName: string; contentType: string; inline: boolean }[];
  deliveryAttempts: {
    attemptNumber: number;
    providerName: string;
    isSuccess: boolean;
    durationMs: number;
    attemptedAt: Date;
    errorMessage: string | null;
  }[];
}

/** A message with its recipients and attempts. The bodies of a confidential message are null. @throws NOTIFICATION_NOT_FOUND */
export async function readNotification(
  q: Sql,
  tenantId: string | null,
  id: string,
): Promise<NotificationDetail> {
  const [row] = await q<(NotificationRow & { isConfidential: boolean })[]>`
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
