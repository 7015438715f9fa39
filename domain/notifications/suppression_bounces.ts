import type { Platform } from "../shared/platform.ts";
import type { HeldNotification, HeldRecipient } from "./delivery_ledger.ts";
import type { Outcome } from "./failover.ts";
import { recordSuppressions, type SuppressedChannel, type SuppressionReason } from "./suppression.ts";

/** Enhanced status codes (RFC 3463) that say the address itself is dead: mailbox, domain, syntax, moved, null MX. */
const DEAD = ["5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"];
/** Replies that mean no such mailbox where the server gives no enhanced code. */
const BARE = ["550", "551", "553"];
/** Twilio's answer to a number that has sent STOP. */
const OPTED_OUT = /: 21610\b/;

/**
 * Why a refusal means that the address should not be written to again; null for every other refusal, such as a full
 * mailbox (5.2.2) or a policy (5.7.x), which may pass or be about the message. A refusal of a mail as a whole says
 * nothing of the address.
 */
export function bounceReason(
  channel: SuppressedChannel,
  { status, errorMessage, isRecipientError }: Pick<Outcome, "status" | "errorMessage" | "isRecipientError">,
): SuppressionReason | null {
  if (status !== "Refused" || errorMessage === null) return null;
  if (channel === "Sms") return OPTED_OUT.test(errorMessage) ? "Unsubscribed" : null;
  if (!isRecipientError) return null;
  const [, reply = "", enhanced] = /^(5\d\d)[ -](?:(\d\.\d{1,3}\.\d{1,3})(?!\S))?/.exec(errorMessage) ?? [];
  const isDead = enhanced === undefined ? BARE.includes(reply) : DEAD.includes(enhanced);
  return isDead ? "HardBounce" : null;
}

/** Suppresses the addresses a run has found dead, as well as that can be done: it never throws. Those of the service's own confidential mail are left alone. */
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
    // others of this message were reached, and that must be kept; the next refusal says it of this address again
    p.log.warn("a dead address could not be suppressed", { error });
  }
}

/** The keys to an account are sent whatever became of mail before: a mailbox may be back. */
export const ignoresSuppression = ({ tenantId, isConfidential }: HeldNotification): boolean =>
  tenantId === null && isConfidential;
