import type { Platform } from "../shared/platform.ts";
import type { HeldNotification, HeldRecipient, Outcome } from "./delivery_ledger.ts";
import { recordSuppressions, type SuppressedChannel, type SuppressionReason } from "./suppression.ts";

/** Enhanced status codes (RFC 3463) of a dead address: bad mailbox, bad domain, bad syntax, moved, null MX. */
const DEAD_CODES = ["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"];
/** Reply codes that mean "no such mailbox" if the server sends no enhanced code. */
const DEAD_REPLIES = ["550", "551", "553"];
/** Twilio's error code for a number that has sent STOP. */
const OPTED_OUT = /: 21610\b/;

/**
 * Decides whether a refusal means that the address is dead or has opted out. @returns the reason to suppress it, or null
 * for other refusals, such as a full mailbox (5.2.2) or a policy (5.7.x). A refusal of a whole mail never counts, because
 * it is not about the address.
 */
export function bounceReason(
  channel: SuppressedChannel,
  { status, errorMessage, isRecipientError }: Pick<Outcome, "status" | "errorMessage" | "isRecipientError">,
): SuppressionReason | null {
  if (status !== "Refused" || errorMessage === null) return null;
  if (channel === "Sms") return OPTED_OUT.test(errorMessage) ? "Unsubscribed" : null;
  if (!isRecipientError) return null;
  const [, reply = "", enhanced] = /^(5\d\d)[ -](?:(\d\.\d{1,3}\.\d{1,3})(?!\S))?/.exec(errorMessage) ?? [];
  const isDead = enhanced === undefined ? DEAD_REPLIES.includes(reply) : DEAD_CODES.includes(enhanced);
  return isDead ? "HardBounce" : null;
}

/**
 * Suppresses the addresses that a run has found dead. It never throws: a database error is only logged. Addresses of the
 * service's own confidential mail are not suppressed.
 */
export async function suppressBounced(
  p: Pick<Platform, "sql" | "log">,
  held: HeldNotification,
  recipients: HeldRecipient[],
  outcomes: Outcome[],
): Promise<void> {
  const { channel } = held;
  if (channel !== "Email" && channel !== "Sms" || ignoresSuppression(held)) return;
  const byId = new Map(recipients.map((recipient) => [recipient.id, recipient.address]));
  const dead = outcomes.flatMap((outcome) => {
    const reason = bounceReason(channel, outcome);
    const address = byId.get(outcome.recipientId);
    return reason && address !== undefined ? [{ address, reason, detail: outcome.errorMessage }] : [];
  });
  const { tenantId, id: notificationId } = held;
  try {
    await recordSuppressions(p.sql, { tenantId, notificationId, channel }, dead);
  } catch (error) {
    // The outcome of the other recipients must still be written. The next refusal will suppress this address.
    p.log.warn("a dead address could not be suppressed", { error });
  }
}

/** True for the service's own confidential mail, such as a password reset: it is always tried, as a mailbox may exist again. */
export const ignoresSuppression = (
  { tenantId, isConfidential }: Pick<HeldNotification, "tenantId" | "isConfidential">,
): boolean => tenantId === null && isConfidential;
