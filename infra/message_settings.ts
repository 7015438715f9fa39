import { z } from "zod";
import { SIGNING_SECRET, SIGNING_SECRET_EXPECTED } from "./http_out/signing_secret.ts";
import { parseMailFrom } from "./mail/mail_from.ts";
import {
  fcmServiceAccount,
  isPublicKey,
  json,
  nameServer,
  positive,
  safeUrl,
  secretText,
  type Setting,
  smsUrls,
  urlList,
} from "./setting_shapes.ts";

/** The settings of mail, push and text messages: providers, senders, feedback and retention. */
export const MESSAGE_SETTINGS = {
  SMTP_URL: {
    schema: urlList(["smtp:", "smtps:"]),
    meaning:
      "Mail server URL, or several in failover order, comma-separated; absent in development: the outbox at /dev/outbox",
    development: "",
  },
  MAIL_FROM: {
    schema: z.string().refine(
      (text) => /^[^\s@<>,;"]+@[^\s@<>,;"]+$/.test(parseMailFrom(text).address),
      "expected an address such as steward@example.com, or a name with it: Steward <steward@example.com>",
    ),
    meaning: "Sender of mail: `Name <address>` or an address",
    development: "steward@localhost",
  },
  DNS_SERVER: {
    schema: nameServer,
    meaning:
      "Name server that checks the TXT records of sender addresses: `address` or `address:port`; absent: that of the system",
    optional: true,
  },
  PRODUCT_NAME: {
    schema: z.string().trim().min(1).max(100),
    meaning:
      "Name of the product in mails, hosted pages and documents of tenants that have set no other; absent: the tenant's name",
    optional: true,
  },
  PRIMARY_COLOUR: {
    schema: z.string().toLowerCase().regex(/^#[0-9a-f]{6}$/, "expected a colour such as #1f4fd8"),
    meaning: "Colour of buttons in mails, hosted pages and documents of tenants that have set no other",
    default: "#1f4fd8",
  },
  FCM_SERVICE_ACCOUNT: {
    schema: json(fcmServiceAccount),
    meaning:
      "Push: JSON key of the Firebase project's service account; absent: the outbox in development, no push in production",
    development: "",
    optional: true,
  },
  FCM_URL: { schema: safeUrl, meaning: "Push: endpoint; absent: https://fcm.googleapis.com", optional: true },
  SMS_URL: {
    schema: smsUrls,
    meaning:
      "SMS: Twilio-compatible gateway `https://ACCOUNT_SID:AUTH_TOKEN@api.twilio.com?from=NUMBER` (or `messagingService=MG…`), or several in failover order, comma-separated; absent: the outbox in development, no SMS in production",
    development: "",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_TWILIO: {
    schema: secretText,
    meaning:
      "Auth token (at least 16 characters) of the Twilio account, which signs status callbacks and replies (STOP, START); absent: text messages have no feedback",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_SES: {
    schema: z.string().regex(
      /^\s*arn:[^,\s]+:sns:[^,\s]+(\s*,\s*arn:[^,\s]+:sns:[^,\s]+)*\s*$/,
      "expected ARNs of SNS topics",
    ),
    meaning:
      "ARN of the SNS topic that Amazon SES sends its events to, or several, comma-separated; absent: none",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_SENDGRID: {
    schema: z.string().refine(isPublicKey, "expected a public key (base64 of its SPKI form)"),
    meaning: "Verification key of SendGrid's signed event webhook; absent: none",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_MAILGUN: {
    schema: secretText,
    meaning: "Webhook signing key of Mailgun, at least 16 characters; absent: none",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_POSTMARK: {
    schema: z.string().regex(
      /^[^:]+:.{16,}$/,
      "expected user:password, with a password of at least 16 characters",
    ),
    meaning: "`user:password` of the basic authentication of Postmark's webhooks; absent: none",
    optional: true,
  },
  NOTIFICATION_FEEDBACK_STANDARD_WEBHOOKS: {
    schema: z.string().regex(SIGNING_SECRET, SIGNING_SECRET_EXPECTED),
    meaning: "Secret of feedback in the format of Standard Webhooks, for other providers; absent: none",
    optional: true,
  },
  NOTIFICATION_RETENTION_DAYS: {
    schema: positive.max(3650),
    meaning:
      "Days to keep messages that were sent, cancelled or have failed, with recipients and attempts, and in-app notifications",
    default: "365",
  },
  NOTIFICATION_BODY_RETENTION_DAYS: {
    schema: positive.max(3650),
    meaning:
      "Days to keep the texts, template data and attached files of such messages, and in-app notifications that were read",
    default: "90",
  },
  NOTIFICATION_ATTACHMENTS_MAX_BYTES: {
    schema: positive,
    meaning:
      "Largest total size of a message's attachments, in bytes. In the mail they are a third larger: stay below the limit of the mail servers",
    default: "10485760",
  },
} as const satisfies Record<string, Setting>;
