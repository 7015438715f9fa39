import { Buffer } from "node:buffer";
import { createPublicKey, verify } from "node:crypto";
import { z } from "zod";
import type { SuppressionReason } from "../suppression.ts";
import {
  type DeliveryReport,
  type FeedbackAdapter,
  optionalText,
  readJsonBody,
  REFERENCE,
  reportOf,
  requireValid,
} from "./feedback.ts";

const event = z.object({
  event: z.string(),
  email: z.string(),
  "smtp-id": optionalText,
  [REFERENCE]: optionalText,
  reason: optionalText,
  type: optionalText,
  timestamp: z.number().optional().catch(undefined),
});

/** SendGrid's reasons for dropping a mail that are about its address, and so suppress it. */
const DROPPED = new Map<string, SuppressionReason>([
  ["bounced address", "HardBounce"],
  ["invalid", "HardBounce"],
  ["spam reporting address", "Complaint"],
]);

/** The signed event webhook of SendGrid. The secret is its verification key (base64). */
export const sendgrid: FeedbackAdapter = {
  read({ headers, body }, secret) {
    const timestamp = headers.get("x-twilio-email-event-webhook-timestamp") ?? "";
    const signature = headers.get("x-twilio-email-event-webhook-signature") ?? "";
    requireValid(
      isSigned(secret, timestamp, signature, body),
      "X-Twilio-Email-Event-Webhook-Signature does not match the body",
    );
    const events = readJsonBody(body);
    return { reports: Array.isArray(events) ? events.flatMap(readEvent) : [] };
  },
  headers: (reference) => ({ "X-SMTPAPI": JSON.stringify({ unique_args: { [REFERENCE]: reference } }) }),
};

function isSigned(secret: string, timestamp: string, signature: string, body: Uint8Array): boolean {
  const key = createPublicKey({ key: Uint8Array.fromBase64(secret) as never, format: "der", type: "spki" });
  const signed = Buffer.concat([Buffer.from(timestamp), body]);
  try {
    return verify("sha256", signed, key, Uint8Array.fromBase64(signature));
  } catch {
    return false; // the signature is not base64, or not in DER
  }
}

function readEvent(given: unknown): DeliveryReport[] {
  const { data } = event.safeParse(given);
  if (!data) return [];
  const references = [data[REFERENCE], data["smtp-id"]];
  const common = { address: data.email, detail: data.reason, at: data.timestamp };
  switch (data.event) {
    case "delivered":
      return reportOf(references, { ...common, state: "Delivered" });
    case "bounce":
      return reportOf(references, {
        ...common,
        state: "Bounced",
        suppression: data.type === "blocked" ? null : "HardBounce",
      });
    case "dropped": {
      const suppression = DROPPED.get(data.reason?.toLowerCase() ?? "") ?? null;
      return reportOf(references, { ...common, state: "Bounced", suppression });
    }
    case "spamreport":
      return reportOf(references, { ...common, state: "Complained" });
    default:
      return [];
  }
}
