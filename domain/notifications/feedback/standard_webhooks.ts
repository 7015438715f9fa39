import { z } from "zod";
import { signatureHeaders } from "../../../infra/http_out/webhook_signature.ts";
import { invalid } from "../../problems/problem.ts";
import { DELIVERY_STATES } from "../status.ts";
import {
  equalsInConstantTime,
  type FeedbackAdapter,
  readJsonBody,
  reportOf,
  requireValid,
} from "./feedback.ts";

/** The tolerance that Standard Webhooks recommends. */
const TOLERANCE_MS = 5 * 60_000;

const payload = z.object({
  events: z.array(z.object({
    /** Our Message-ID, or the id in it. */
    messageId: z.string(),
    recipient: z.string(),
    state: z.enum(DELIVERY_STATES),
    /** True if a bounce means that the address is dead. */
    isPermanent: z.boolean().optional(),
    detail: z.string().nullish(),
    occurredAt: z.string().nullish(),
  })).max(1_000),
});

/** A format for any other provider or mail server: a signed message of Standard Webhooks. The secret is `whsec_…`. */
export const standardWebhooks: FeedbackAdapter = {
  read({ headers, body, now }, secret) {
    const [id, timestamp] = [headers.get("webhook-id") ?? "", headers.get("webhook-timestamp") ?? ""];
    const at = new Date(/^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1000 : 0);
    const expected =
      signatureHeaders([secret], id, at, new TextDecoder().decode(body))["webhook-signature"] ?? "";
    const given = headers.get("webhook-signature")?.split(" ") ?? [];
    requireValid(
      id !== "" && given.some((each) => equalsInConstantTime(each, expected)),
      "webhook-signature does not match the body",
    );
    const isRecent = Math.abs(now.getTime() - at.getTime()) <= TOLERANCE_MS;
    requireValid(isRecent, `webhook-timestamp ${timestamp} is more than 5 minutes from now`);
    const { data, error } = payload.safeParse(readJsonBody(body));
    if (!data) {
      throw invalid(Object.fromEntries(error.issues.map((each) => [each.path.join("."), [each.message]])));
    }
    const reports = data.events.flatMap(
      ({ messageId, recipient, state, isPermanent, detail, occurredAt }) => {
        const suppression = state === "Bounced" && isPermanent ? "HardBounce" as const : null;
        return reportOf([messageId], { address: recipient, state, suppression, detail, at: occurredAt });
      },
    );
    return { reports, receipt: id };
  },
};
