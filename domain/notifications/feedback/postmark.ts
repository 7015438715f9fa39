import { z } from "zod";
import {
  equalsInConstantTime,
  type Feedback,
  type FeedbackAdapter,
  optionalText,
  readJsonBody,
  REFERENCE,
  reportOf,
  requireValid,
} from "./feedback.ts";

const record = z.object({
  RecordType: z.string(),
  Type: optionalText,
  Recipient: optionalText,
  Email: optionalText,
  DeliveredAt: optionalText,
  BouncedAt: optionalText,
  Details: optionalText,
  Description: optionalText,
  Metadata: z.record(z.string(), z.unknown()).optional().catch(undefined),
});

const HARD = ["HardBounce", "BadEmailAddress", "ManuallyDeactivated"];
/** Bounces that Postmark does not try again although the address may still be valid. */
const SOFT = ["SoftBounce", "DnsError", "SpamNotification", "Blocked", "DMARCPolicy", "Unknown"];

/** The webhooks of Postmark, which are not signed. The secret is `user:password` of the webhook's basic authentication. */
export const postmark: FeedbackAdapter = {
  read({ headers, body }, secret) {
    const expected = `Basic ${new TextEncoder().encode(secret).toBase64()}`;
    requireValid(
      equalsInConstantTime(headers.get("authorization"), expected),
      "user or password of the basic authentication is wrong",
    );
    const { data } = record.safeParse(readJsonBody(body));
    return data ? readRecord(data) : { reports: [] };
  },
  headers: (reference) => ({ [`X-PM-Metadata-${REFERENCE}`]: reference }),
};

function readRecord({ RecordType, Type = "", Metadata, ...data }: z.infer<typeof record>): Feedback {
  const reference = Metadata?.[REFERENCE];
  const references = [typeof reference === "string" ? reference : null];
  const common = {
    address: data.Recipient ?? data.Email ?? "",
    detail: data.Details || data.Description,
    at: data.DeliveredAt ?? data.BouncedAt,
  };
  if (RecordType === "Delivery") {
    return { reports: reportOf(references, { ...common, state: "Delivered" }) };
  }
  if (RecordType === "SpamComplaint" || Type === "SpamComplaint") {
    return { reports: reportOf(references, { ...common, state: "Complained" }) };
  }
  const isHard = HARD.includes(Type);
  if (RecordType !== "Bounce" || !isHard && !SOFT.includes(Type)) return { reports: [] };
  const suppression = isHard ? "HardBounce" as const : null;
  return { reports: reportOf(references, { ...common, state: "Bounced", suppression }) };
}
