import { z } from "zod";
import { channelName } from "../../notifications/channels.ts";
import {
  dayParameter,
  defineReport,
  detail,
  instant,
  integer,
  tenantName,
  text,
} from "../definition/report_template.ts";
import { TRANSLATIONS } from "./translations.ts";

/** Messages and their outcome per recipient: one row per recipient, newest first. */
export const notificationDeliveriesReport = defineReport({
  id: "notification-deliveries",
  name: "Notification deliveries",
  description: "The tenant's messages by recipient: channel, state, time sent and error",
  version: 1,
  translations: TRANSLATIONS,
  permissions: ["send:notifications"],
  parameters: z.object({
    from: dayParameter("From", "Only messages created on or after this day (UTC)"),
    to: dayParameter("To", "Only messages created on or before this day (UTC)"),
    channel: channelName.optional().meta({
      title: "Channel",
      description: "Only messages of this channel",
    }),
    outcome: z.enum(["Owed", "Sent", "Refused"]).optional().meta({
      title: "Outcome",
      description: "Only recipients with this outcome",
    }),
  }),
  columns: {
    createdAt: instant("Created"),
    channel: text("Channel", 8),
    status: detail(text("Message state", 13)),
    recipient: text("Recipient", 34),
    outcome: text("Outcome", 9),
    sentAt: instant("Sent"),
    errorMessage: text("Error", 40),
    subject: text("Subject", 40),
    templateSlug: detail(text("Template", 20)),
    priority: detail(text("Priority", 9)),
    retryCount: detail(integer("Retries")),
    notificationId: detail(text("Message", 36)),
    tenant: tenantName(),
  },
  chart: { title: "Recipients by outcome", kind: "pie", by: "outcome" },
  query: (sql, { tenantIds, parameters: { from, to, channel, outcome } }) =>
    sql`
    select n.created_at, n.channel, n.status, r.status as outcome, r.sent_at,
      coalesce(r.error_message, case when r.status <> 'Sent' then n.last_error end) as error_message,
      case when not n.is_confidential then n.subject end as subject, n.template_slug, n.priority, n.retry_count,
      case when n.channel in ('Email', 'Push', 'InApp', 'Sms') then r.address
        else regexp_replace(r.address, '^(https?://)([^/?#]*@)?([^/?#]+).*$', '\\1\\3/…') end as recipient,
      n.id as notification_id, t.name as tenant
    from notifications n
    join notification_recipients r on r.notification_id = n.id
    left join tenants t on t.id = n.tenant_id
    where (${tenantIds}::uuid[] is null or n.tenant_id = any(${tenantIds}::uuid[]))
      and (${from}::date is null or n.created_at >= ${from}::date)
      and (${to}::date is null or n.created_at < ${to}::date + 1)
      and (${channel}::text is null or n.channel = ${channel}::text::notification_channel)
      and (${outcome}::text is null or r.status = ${outcome}::text)
    order by n.created_at desc, n.id desc, r.id`,
});
