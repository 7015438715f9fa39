import { z } from "zod";
import {
  type DeliveryReport,
  type FeedbackAdapter,
  optionalText,
  readJsonBody,
  REFERENCE,
  reportOf,
  requireValid,
} from "./feedback.ts";
import { createPublicKey, verify } from "node:crypto";
import type { HttpOut } from "../../../infra/http_out/http_out.ts";
import { TtlCache } from "../../shared/ttl_cache.ts";

const recipient = z.object({ emailAddress: z.string(), diagnosticCode: optionalText, status: optionalText });
const event = z.object({
  eventType: optionalText,
  notificationType: optionalText,
  mail: z.object({
    headers: z.array(z.object({ name: z.string(), value: z.string() })).optional().catch(undefined),
    commonHeaders: z.object({ messageId: optionalText }).optional().catch(undefined),
    tags: z.record(z.string(), z.array(z.string())).optional().catch(undefined),
  }),
  bounce: z.object({
    bounceType: optionalText,
    timestamp: optionalText,
    bouncedRecipients: z.array(recipient),
  }).optional(),
  complaint: z.object({
    timestamp: optionalText,
    complaintFeedbackType: optionalText,
    complainedRecipients: z.array(recipient),
  })
    .optional(),
  delivery: z.object({ timestamp: optionalText, smtpResponse: optionalText, recipients: z.array(z.string()) })
    .optional(),
});

/** Amazon SES: its events come as messages of SNS. The secret is the ARN of the topic, or several, comma-separated. */
export const ses: FeedbackAdapter = {
  async read({ body, http }, secret) {
    const topics = secret.split(",").map((arn) => arn.trim());
    const message = await readSnsMessage(body, topics, http);
    if (message.Type === "SubscriptionConfirmation") await confirmSubscription(message, http);
    if (message.Type !== "Notification") return { reports: [] };
    return { reports: readEvent(message.Message), receipt: message.MessageId };
  },
  headers: (reference) => ({ "X-SES-MESSAGE-TAGS": `${REFERENCE}=${reference}` }),
};

function readEvent(json: string): DeliveryReport[] {
  const { data } = event.safeParse(parseOrNull(json));
  if (!data) return [];
  const { mail, bounce, complaint, delivery } = data;
  const header = mail.headers?.find(({ name }) => name.toLowerCase() === "message-id");
  const references = [mail.tags?.[REFERENCE]?.[0], header?.value, mail.commonHeaders?.messageId];
  switch (data.eventType ?? data.notificationType) {
    case "Delivery":
      return (delivery?.recipients ?? []).flatMap((address) =>
        reportOf(references, {
          address,
          state: "Delivered",
          detail: delivery?.smtpResponse,
          at: delivery?.timestamp,
        })
      );
    case "Bounce":
      return (bounce?.bouncedRecipients ?? []).flatMap(({ emailAddress: address, diagnosticCode, status }) =>
        reportOf(references, {
          address,
          state: "Bounced",
          suppression: bounce?.bounceType === "Permanent" ? "HardBounce" : null,
          detail: diagnosticCode ?? status,
          at: bounce?.timestamp,
        })
      );
    case "Complaint":
      return (complaint?.complainedRecipients ?? []).flatMap(({ emailAddress: address }) =>
        reportOf(references, {
          address,
          state: "Complained",
          detail: complaint?.complaintFeedbackType,
          at: complaint?.timestamp,
        })
      );
    default:
      return [];
  }
}

/** Null for the message that SES sends when a topic is configured, which is not JSON. */
function parseOrNull(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

const CERTIFICATE_PATH = /^\/SimpleNotificationService-[0-9A-Za-z]{1,64}\.pem$/;
const SNS_HOST = /^sns\.[a-z0-9-]{1,40}\.amazonaws\.com(\.cn)?$/;

const message = z.object({
  Type: z.enum(["Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation"]),
  MessageId: z.string().min(1).max(100),
  TopicArn: z.string(),
  Message: z.string(),
  Timestamp: z.string(),
  SignatureVersion: z.enum(["1", "2"]),
  Signature: z.string(),
  SigningCertURL: z.string(),
  Subject: z.string().nullish(),
  SubscribeURL: z.string().optional(),
  Token: z.string().optional(),
});
type SnsMessage = z.infer<typeof message>;

/** The fields that the signature covers, by message type, in the order in which they are signed. */
const SIGNED_FIELDS = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: [
    "Message",
    "MessageId",
    "SubscribeURL",
    "Timestamp",
    "Token",
    "TopicArn",
    "Type",
  ],
  UnsubscribeConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
} as const;

/** Certificates by URL. SNS replaces its certificate by one with another URL. */
const certificates = new TtlCache<string>({ ttlMs: 3_600_000, maxEntries: 100 });

/**
 * Reads a message of one of the topics of Amazon SNS and checks its signature. Certificates are fetched from hosts of SNS only.
 * @throws NOTIFICATION_FEEDBACK_UNAUTHORIZED, VALIDATION_ERROR (no JSON)
 */
async function readSnsMessage(body: Uint8Array, topics: string[], http: HttpOut): Promise<SnsMessage> {
  const { data } = message.safeParse(readJsonBody(body));
  if (!data) return requireValid(false, "it is not a signed message of Amazon SNS") as never;
  requireValid(topics.includes(data.TopicArn), "its TopicArn is not in NOTIFICATION_FEEDBACK_SES");
  const url = snsUrl(data.SigningCertURL);
  requireValid(
    url !== null && CERTIFICATE_PATH.test(url.pathname),
    "SigningCertURL is not a certificate of SNS",
  );
  const certificate = await certificates.read(
    data.SigningCertURL,
    () => fetchText(http, data.SigningCertURL, "SigningCertURL"),
  );
  requireValid(isSigned(data, certificate), "the signature does not match the message");
  return data;
}

/** Confirms the subscription of a topic. The URL is signed, and its host is checked too. */
async function confirmSubscription({ SubscribeURL = "" }: SnsMessage, http: HttpOut): Promise<void> {
  requireValid(snsUrl(SubscribeURL) !== null, "SubscribeURL is not on the host of SNS");
  await fetchText(http, SubscribeURL, "SubscribeURL");
}

/** A URL on the host of SNS; null for any other. */
function snsUrl(text: string): URL | null {
  const url = URL.parse(text);
  const isSafe = url?.protocol === "https:" && url.port === "" && !url.username && !url.password;
  return isSafe && SNS_HOST.test(url.hostname) ? url : null;
}

function isSigned(given: SnsMessage, certificate: string): boolean {
  const fields = SIGNED_FIELDS[given.Type].map((name) => [name, given[name]] as const);
  const text = fields.flatMap(([name, value]) =>
    value === undefined || value === null ? [] : `${name}\n${value}\n`
  );
  const digest = given.SignatureVersion === "1" ? "sha1" : "sha256";
  try {
    const key = createPublicKey(certificate);
    return verify(
      digest,
      new TextEncoder().encode(text.join("")),
      key,
      Uint8Array.fromBase64(given.Signature),
    );
  } catch {
    return false; // the certificate or the signature cannot be read
  }
}

/**
 * Fetches a URL of a message. A 4xx answer refuses the message as forged. After any other failure the request fails, so
 * that SNS sends the message again.
 * @throws NOTIFICATION_FEEDBACK_UNAUTHORIZED
 */
async function fetchText(http: HttpOut, url: string, name: string): Promise<string> {
  const { status, body } = await http.send({ url });
  requireValid(status < 400 || status >= 500, `Amazon SNS answered ${status} to its ${name}`);
  if (status !== 200) throw new Error(`Amazon SNS answered ${status} to its ${name}`);
  return new TextDecoder().decode(body);
}
