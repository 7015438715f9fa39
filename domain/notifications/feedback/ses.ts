import { z } from "zod";
import { type DeliveryReport, type FeedbackAdapter, optionalText, REFERENCE, reportOf } from "./feedback.ts";
import { confirmSubscription, readSnsMessage } from "./sns.ts";

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
