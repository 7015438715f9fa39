import { TEMPLATE_KINDS } from "../../domain/templates/read.ts";
import { z } from "zod";
import { channelName, channelNames } from "../../domain/notifications/channels.ts";
import { category } from "../../domain/notifications/preferences.ts";
import { DELIVERY_STATES, NOTIFICATION_PRIORITIES, STATUSES } from "../../domain/notifications/status.ts";
import { templateTexts } from "../../domain/templates/read.ts";
import {
  anyObject,
  enumName,
  optionalObject,
  optionalText,
  uuid,
  withDefault,
} from "../../domain/shared/shapes.ts";

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

const recipient = z.object({ address, displayName: optionalText(200) }).meta({ id: "RecipientDto" });
const recipientList = withDefault(z.array(recipient).max(MAX_RECIPIENTS), []);

export const replyTo = z.string().trim().max(320).nullish().transform((value) => value || null)
  .describe("An email address that answers go to");
const attachment = z.object({
  fileId: uuid,
  fileName: optionalText(255).describe("Absent: the name of the file"),
  inline: z.boolean().nullish().describe("True: the HTML body shows it, as `cid:` and the fileId"),
}).transform(({ inline, ...attachment }) => ({ ...attachment, isInline: inline ?? false }))
  .meta({ id: "AttachmentRequest" });
export const attachments = withDefault(z.array(attachment).max(20), [])
  .describe("Available files of the registry that the caller may read; only for Email");

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

export const deliveryState = enumName(DELIVERY_STATES);

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
  layoutSlug: z.string().nullable().describe(
    "The layout around it; null: the default layout, unless the HTML is a whole document",
  ),
  texts: templateTexts.nullable(),
};

export const NotificationTemplateListItem = NotificationTemplateDto.extend({
  tenantId: z.guid().nullable(),
  kind: composed.kind,
  isShipped: z.boolean().describe("True for a built-in template, which tenants cannot change"),
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
  changedBy: z.guid().nullable().describe("The user; null: the service itself"),
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
  error: z.string().nullable().describe("Why it does not render; null: it renders"),
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
  documentHtml: z.string().nullable().describe("The HTML as a mail shows it, in the looks of the tenant"),
  data: templateData.describe("The data it was rendered with"),
}).meta({ id: "NotificationTemplatePreview" });
