import { TEMPLATE_KINDS } from "../../domain/templates/read.ts";
import { z } from "zod";
import { channelName, channelNames } from "../../domain/notifications/channels.ts";
import { category } from "../../domain/notifications/preferences.ts";
import { SUPPRESSION_REASONS } from "../../domain/notifications/suppression.ts";
import {
  DELIVERY_STATES,
  NOTIFICATION_PRIORITIES,
  RECIPIENT_STATUSES,
  SKIP_REASONS,
  STATUSES,
} from "../../domain/notifications/status.ts";
import { templateTexts } from "../shared/template_texts.ts";
import { anyObject, enumName, optionalObject, optionalText, uuid } from "../../domain/shared/shapes.ts";

const MAX_RECIPIENTS = 1_000;
/** A longer body exceeds the size limit of a request. */
const BODY_LENGTH = 1_000_000;

const timestamp = z.iso.datetime();
export const channel = z.preprocess(
  (value) =>
    typeof value === "string"
      ? channelNames.find((name) => name.toLowerCase() === value.toLowerCase()) ?? value
      : value,
  channelName,
);
export const status = enumName(STATUSES);
const priority = enumName(NOTIFICATION_PRIORITIES);

/** An address of any channel. The domain checks whether it is valid for the channel. */
export const address = z.string().trim().min(1).max(4_096);
export const addressList = z.array(address).max(MAX_RECIPIENTS);
export const bodyText = optionalText(BODY_LENGTH);
export const slug = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, {
  error: "expected 1 to 100 letters, digits, dots, hyphens or underscores, beginning with a letter or digit",
});
export const templateData = anyObject;
/** An http(s) URL, or a path of the client. Browsers read `/\` as `//`, the start of a host. */
const actionUrl = z.string().max(2_000).regex(/^(https?:\/\/[^\s]+|\/(?![/\\])[^\s]*)$/, {
  error: "expected an http(s) URL or a path that begins with /",
});

const recipientList = z.array(
  z.object({ address, displayName: optionalText(200) }).meta({ id: "RecipientDto" }),
)
  .max(MAX_RECIPIENTS).nullish().transform((list) => list ?? []);

export const replyTo = z.string().trim().max(320).nullish().transform((value) => value || null)
  .meta({ description: "An email address that answers go to" });
export const attachments = z.array(
  z.object({
    fileId: uuid,
    fileName: optionalText(255).meta({ description: "Absent: the name of the file" }),
    inline: z.boolean().nullish().meta({
      description: "True: the HTML body shows it, as `cid:` and the fileId",
    }),
  }).transform(({ inline, ...attachment }) => ({ ...attachment, isInline: inline ?? false }))
    .meta({ id: "AttachmentRequest" }),
).max(20).nullish().transform((list) => list ?? [])
  .meta({ description: "Available files of the registry that the caller may read; only for Email" });

export const SendRequest = z.object({
  channel,
  recipients: recipientList,
  cc: recipientList,
  bcc: recipientList,
  replyTo,
  attachments,
  userIds: z.array(uuid).max(MAX_RECIPIENTS).nullish().transform((ids) => [...new Set(ids ?? [])]),
  subject: optionalText(1_000),
  htmlBody: bodyText,
  textBody: bodyText,
  templateSlug: slug.nullish(),
  templateData: optionalObject,
  locale: optionalText(35),
  priority: priority.nullish(),
  category: category.nullish(),
  icon: optionalText(200),
  actionUrl: actionUrl.nullish(),
}).refine(({ recipients, userIds }) => recipients.length + userIds.length > 0, {
  path: ["recipients"],
  error: "expected at least one recipient, or userIds",
}).meta({ id: "SendNotificationRequest" });

export const NotificationResultDto = z.object({
  notificationId: z.guid(),
  status: z.enum(STATUSES),
  statusDisplay: z.string(),
}).meta({ id: "NotificationResultDto" });

const common = {
  id: z.guid(),
  channel: channelName,
  channelDisplay: z.string(),
  status: z.enum(STATUSES),
  statusDisplay: z.string(),
  priority: z.enum(NOTIFICATION_PRIORITIES),
  subject: z.string().nullable(),
  retryCount: z.int().meta({ description: "Repeated attempts, whatever the reason" }),
  scheduledAt: timestamp.nullable(),
  sentAt: timestamp.nullable(),
  createdAt: timestamp,
};

export const deliveryState = enumName(DELIVERY_STATES);
const reportedState = z.enum(DELIVERY_STATES).nullable().meta({
  description:
    "What the provider reported after it had accepted the message; of several reports, the strongest",
});

export const NotificationSummaryDto = z.object({
  ...common,
  tenantId: z.guid().nullable(),
  recipient: z.string().nullable().meta({ description: "The first recipient" }),
  recipientCount: z.int(),
  templateSlug: z.string().nullable(),
  category: z.string().nullable(),
  deliveryState: reportedState,
})
  .meta({ id: "NotificationSummaryDto" });

export const NotificationDetailDto = z.object({
  ...common,
  htmlBody: z.string().nullable().meta({
    description: "null also if the content is confidential or expired",
  }),
  bodyExpired: z.boolean().meta({
    description:
      "The content was deleted after NOTIFICATION_BODY_RETENTION_DAYS; the message cannot be sent again",
  }),
  textBody: z.string().nullable(),
  templateSlug: z.string().nullable(),
  templateLocale: z.string().nullable(),
  templateVersion: z.int().nullable().meta({
    description: "The template version that the message is rendered from",
  }),
  fromAddress: z.string().nullable(),
  fromName: z.string().nullable(),
  replyTo: z.string().nullable(),
  maxRetries: z.int().meta({ description: "Repeats after failures; those after outages do not count" }),
  lastError: z.string().nullable(),
  category: z.string().nullable(),
  deliveryState: reportedState,
  recipients: z.array(z.object({
    address: z.string(),
    displayName: z.string().nullable(),
    kind: z.enum(["to", "cc", "bcc"]),
    userId: z.guid().nullable(),
    status: z.enum(RECIPIENT_STATUSES),
    reason: z.enum(SKIP_REASONS).nullable().meta({ description: "Reason of status Skipped" }),
    deliverAfter: timestamp.nullable().meta({ description: "End of the quiet hours it waits for" }),
    sentAt: timestamp.nullable(),
    errorMessage: z.string().nullable(),
    deliveryState: reportedState,
    deliveryStateAt: timestamp.nullable(),
    deliveryDetail: z.string().nullable().meta({ description: "The provider's reason" }),
    suppression: z.object({
      id: z.guid(),
      reason: z.enum(SUPPRESSION_REASONS),
      detail: z.string().nullable(),
      since: timestamp,
      applies: z.boolean().meta({
        description:
          "Whether the message skips the address if it is sent again. False: this message caused it",
      }),
    }).nullable().meta({ id: "RecipientSuppressionDto", description: "Set while the address is suppressed" }),
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
    attemptedAt: timestamp,
    errorMessage: z.string().nullable(),
  })),
}).meta({ id: "NotificationDetailDto" });

export const NotificationTemplateDto = z.object({
  id: z.guid(),
  slug: z.string(),
  name: z.string(),
  locale: z.string(),
  version: z.int(),
  createdAt: timestamp,
}).meta({ id: "NotificationTemplateDto" });

const composed = {
  kind: z.enum(TEMPLATE_KINDS),
  layoutSlug: z.string().nullable().meta({
    description: "The layout around it; null: the default layout, unless the HTML is a whole document",
  }),
  texts: templateTexts.nullable(),
};

export const NotificationTemplateListItem = NotificationTemplateDto.extend({
  tenantId: z.guid().nullable(),
  kind: composed.kind,
  isShipped: z.boolean().meta({
    description: "True for a built-in template, which tenants cannot change",
  }),
  updatedAt: timestamp,
}).meta({ id: "NotificationTemplateListItem" });

export const NotificationTemplateDetailDto = NotificationTemplateDto.extend({
  isShipped: z.boolean(),
  ...composed,
  subjectTemplate: z.string().nullable(),
  htmlBodyTemplate: z.string().nullable(),
  textBodyTemplate: z.string().nullable(),
  requiredVariables: z.string(),
  updatedAt: timestamp,
}).meta({ id: "NotificationTemplateDetailDto" });

const versionMade = {
  version: z.int(),
  changedAt: timestamp,
  changedBy: z.guid().nullable().meta({ description: "The user; null: the service itself" }),
};
export const NotificationTemplateVersionItem = z.object(versionMade)
  .meta({ id: "NotificationTemplateVersionItem" });

/** A template that uses a layout or partial. */
export const TemplateUseDto = z.object({
  id: z.guid(),
  slug: z.string(),
  name: z.string(),
  locale: z.string(),
  isShipped: z.boolean(),
  error: z.string().nullable().meta({ description: "Why it does not render; null: it renders" }),
}).meta({ id: "TemplateUseDto" });

export const NotificationTemplateVersionDto = z.object({
  templateId: z.guid(),
  ...versionMade,
  name: z.string(),
  locale: z.string(),
  ...composed,
  subjectTemplate: z.string().nullable(),
  htmlBodyTemplate: z.string().nullable(),
  textBodyTemplate: z.string().nullable(),
  requiredVariables: z.string(),
}).meta({ id: "NotificationTemplateVersionDto" });

const TemplatePreview = z.object({
  subject: z.string().nullable(),
  htmlBody: z.string().nullable(),
  textBody: z.string().nullable(),
});

export const TemplatePreviewDto = TemplatePreview.extend({
  documentHtml: z.string().nullable().meta({
    description: "The HTML as a mail shows it, in the looks of the tenant",
  }),
  data: templateData.meta({ description: "The data it was rendered with" }),
}).meta({ id: "NotificationTemplatePreview" });

export const UserDeviceDto = z.object({
  id: z.guid(),
  userId: z.guid(),
  platform: z.string().nullable(),
  createdAt: timestamp,
}).meta({
  id: "UserDeviceDto",
  description: "A device that receives a user's push messages; its token is not shown",
});
