import { addressKey } from "../addresses.ts";
import type { HeldNotification, HeldRecipient } from "../delivery_ledger.ts";
import type { Outcome } from "../outcome.ts";
import type { NotificationPlatform } from "../platform.ts";
import { quietUntil } from "../quiet_hours.ts";
import type { RecipientPreference } from "../recipient_user.ts";
import { findSuppressions, type SuppressionReason } from "../suppression.ts";
import { ignoresSuppression } from "../suppression_bounces.ts";
import { skip, useCurrentAddresses } from "../user_recipients.ts";
import { collectForDigest, isForDigest } from "./digest_collect.ts";

/** The owed recipients of a message, by what happens to them in this run. */
export interface Selection {
  /** Recipients who get the message now. */
  due: HeldRecipient[];
  /** Recipients who will not get it. */
  skipped: Outcome[];
  /** The time from which the first recipient in quiet hours may get the message; null if none is in quiet hours. */
  waitsUntil: Date | null;
  /** At least one recipient gets the message in a digest. */
  isCollected: boolean;
}

/**
 * Applies suppressions, preferences, quiet hours and digests as they are now. A recipient who is suppressed, has opted
 * out or is no longer a user is skipped. A recipient in quiet hours waits. A recipient with a digest is collected. If no
 * recipient is a known user or suppressed, it runs no query.
 */
export async function selectRecipients(
  p: NotificationPlatform,
  held: HeldNotification,
  owed: HeldRecipient[],
): Promise<Selection> {
  const isPlain = owed.every((r) => r.userId === null && r.suppression === null && isAscii(r.address));
  if (isPlain) return { due: owed, skipped: [], waitsUntil: null, isCollected: false };
  const { found, skipped } = await useCurrentAddresses(p.sql, held, owed);
  const suppressed = ignoresSuppression(held) ? new Map() : await suppressedOf(p, held, found);
  const now = p.clock.now();
  const due: HeldRecipient[] = [];
  const waiting: { recipient: HeldRecipient; until: Date }[] = [];
  const collected: HeldRecipient[] = [];
  for (const recipient of found) {
    const { preference } = recipient;
    const suppression: SuppressionReason | undefined = suppressed.get(recipient.id);
    const until = preference && quietEnd(held, preference, now);
    if (suppression) {
      skipped.push(skip(recipient, "Suppressed", `The address is suppressed (${suppression}).`));
    } else if (held.category !== null && preference?.channels?.[held.channel] === false) {
      skipped.push(skip(recipient, "OptedOut", `The user does not want "${held.category}" on this channel.`));
    } else if (preference && isForDigest(held, preference)) collected.push(recipient);
    else if (until) waiting.push({ recipient, until });
    else due.push(recipient);
  }
  if (collected.length > 0) await collectForDigest(p, held, collected, now);
  if (waiting.length > 0) await writeWaits(p, waiting);
  const [first = null] = waiting.map(({ until }) => until).sort((a, b) => a.getTime() - b.getTime());
  return { due, skipped, waitsUntil: first, isCollected: collected.length > 0 };
}

/**
 * The end of the user's quiet hours; null if the message does not wait for it. The service's own confidential mail does
 * not wait, because its links expire soon.
 */
function quietEnd(held: HeldNotification, preference: RecipientPreference, now: Date): Date | null {
  const { timeZoneId, quietFrom: from, quietTo: to } = preference;
  if (held.priority === "Critical" || ignoresSuppression(held) || from === null || to === null) return null;
  return quietUntil({ timeZoneId, from, to }, now);
}

/**
 * The reasons why recipients are suppressed, by recipient id. It uses the suppression that was read with the message. It
 * reads again only if the address has changed since, or has non-ASCII characters, for which SQL `lower` and `addressKey`
 * may differ.
 */
async function suppressedOf(
  p: Pick<NotificationPlatform, "sql">,
  held: HeldNotification,
  found: HeldRecipient[],
): Promise<Map<string, SuppressionReason>> {
  const { channel } = held;
  const heldAddresses = new Map(held.recipients.map(({ id, address }) => [id, address]));
  const reread = new Set(found.filter((r) => heldAddresses.get(r.id) !== r.address || !isAscii(r.address)));
  const current = await findSuppressions(p.sql, held, [...reread].map((r) => r.address));
  return new Map(found.flatMap((recipient) => {
    const { id, address, suppression } = recipient;
    const reason = reread.has(recipient) ? current.get(addressKey(channel, address)) : suppression;
    return reason ? [[id, reason] as const] : [];
  }));
}

async function writeWaits(
  p: Pick<NotificationPlatform, "sql">,
  waiting: { recipient: HeldRecipient; until: Date }[],
): Promise<void> {
  await p.sql`update notification_recipients r set deliver_after = given.until
    from unnest(${waiting.map(({ recipient }) => recipient.id)}::uuid[],
      ${waiting.map(({ until }) => until.toISOString())}::timestamptz[]) as given (id, until)
    where r.id = given.id and r.status = 'Owed'`;
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);
