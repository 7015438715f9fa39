import { createHmac } from "node:crypto";
import { z } from "zod";
import type { SuppressionReason } from "../suppression.ts";
import {
  type DeliveryReport,
  equalsInConstantTime,
  type FeedbackAdapter,
  optionalText,
  readJsonBody,
  REFERENCE,
  reportOf,
  requireValid,
} from "./feedback.ts";

/** Mailgun repeats a webhook for eight hours. */
const MAX_AGE_MS = 24 * 3_600_000;

const payload = z.object({
  signature: z.object({
    timestamp: z.coerce.string().regex(/^\d{1,12}$/),
    token: z.string().min(1).max(200),
    signature: z.string(),
    "parent-signature": optionalText,
  }),
  "event-data": z.unknown().optional(),
});
const event = z.object({
  event: z.string(),
  recipient: z.string(),
  severity: optionalText,
  reason: optionalText,
  timestamp: z.number().optional().catch(undefined),
  message: z.object({ headers: z.object({ "message-id": optionalText }) }).optional().catch(undefined),
  "user-variables": z.record(z.string(), z.unknown()).optional().catch(undefined),
  "delivery-status": z.object({ message: optionalText, description: optionalText }).optional().catch(
    undefined,
  ),
});

/** Reasons of a permanent failure that are about the address. */
const DEAD_ADDRESS_REASONS = new Map<string, SuppressionReason>([
  ["bounce", "HardBounce"],
  ["suppress-bounce", "HardBounce"],
  ["suppress-complaint", "Complaint"],
]);

/**
 * The webhooks of Mailgun. The secret is the webhook signing key. The signature does not cover the event, only a token:
 * each token is therefore accepted once, and for a day.
 */
export const mailgun: FeedbackAdapter = {
  read({ body, now }, secret) {
    const { data } = payload.safeParse(readJsonBody(body));
    if (!data) return requireValid(false, "it has no signature") as never;
    const { timestamp, token, ...given } = data.signature;
    const expected = createHmac("sha256", secret).update(timestamp + token).digest("hex");
    const isSigned = equalsInConstantTime(given.signature, expected) ||
      equalsInConstantTime(given["parent-signature"], expected);
    requireValid(isSigned, "the signature does not match the token");
    const age = Math.abs(now.getTime() - Number(timestamp) * 1000);
    requireValid(age <= MAX_AGE_MS, `the timestamp ${timestamp} is more than a day from now`);
    return { reports: readEvent(data["event-data"]), receipt: token };
  },
  headers: (reference) => ({ "X-Mailgun-Variables": JSON.stringify({ [REFERENCE]: reference }) }),
};

function readEvent(given: unknown): DeliveryReport[] {
  const { data } = event.safeParse(given);
  if (!data) return [];
  const variable = data["user-variables"]?.[REFERENCE];
  const references = [typeof variable === "string" ? variable : null, data.message?.headers["message-id"]];
  const status = data["delivery-status"];
  const detail = status?.message || status?.description || data.reason;
  const common = { address: data.recipient, detail, at: data.timestamp };
  if (data.event === "delivered") {
    return reportOf(references, { ...common, state: "Delivered" });
  }
  if (data.event === "complained") {
    return reportOf(references, { ...common, state: "Complained" });
  }
  if (data.event !== "failed" || data.severity !== "permanent") return [];
  const suppression = DEAD_ADDRESS_REASONS.get(data.reason ?? "") ?? null;
  return reportOf(references, { ...common, state: "Bounced", suppression });
}
