import { z } from "zod";
import { transact, type Tx } from "../../../infra/postgres/postgres.ts";
import { defineJob, type JobContext } from "../../jobs/job_type.ts";
import { Problem } from "../../problems/problem.ts";
import { type AddressedUser, findUsersInTenant, fullName } from "../../rights/user_lookup.ts";
import { cutText } from "../../shared/cut_text.ts";
import { textOf } from "../../templates/render.ts";
import { DIGEST_JOB, DIGEST_TEMPLATE, openDigests, settleCollected } from "../delivery/digests.ts";
import { insertUnsubscribeUrl } from "../delivery/email.ts";
import type { NotificationPlatform } from "../platform.ts";
import { readDigestLocale, readOptedOut } from "../preferences.ts";
import type { SkipReason } from "../status.ts";
import { tenantOfKey } from "../tenant_key.ts";
import { unsubscribeUrl } from "../unsubscribe.ts";
import { sendNotification } from "./send.ts";

/** Maximum messages in one digest mail. The rest goes into another digest. */
const MAX_ITEMS = 200;
/** Characters of each message that the digest quotes. */
const TEXT_LENGTH = 600;
/** Characters that are read of a stored body. It is longer than TEXT_LENGTH because much of HTML is markup. */
const READ_LENGTH = 100_000;

const args = z.object({ digestId: z.guid() });

interface Item {
  id: string;
  notificationId: string;
  isCancelled: boolean;
  category: string;
  /** The category in lower case, as preferences store it. */
  categoryKey: string;
  subject: string | null;
  htmlBody: string | null;
  textBody: string | null;
}

/** Closes one user's digest and queues its mail, in one transaction. No mail is queued if no message is left to include. */
export const digestJob = defineJob({
  name: DIGEST_JOB,
  args,
  run: ({ digestId }, { platform, db }: JobContext<NotificationPlatform>) =>
    transact(db, (tx) => closeDigest(platform, tx, digestId)),
});

async function closeDigest(p: NotificationPlatform, tx: Tx, digestId: string): Promise<unknown> {
  const [digest] = await tx<{ tenantKey: string; userId: string }[]>`
    select tenant_key, user_id from notification_digests
    where id = ${digestId} and closed_at is null for update`;
  if (!digest) return { skipped: "the digest is already closed" };
  const { userId } = digest;
  const tenantId = tenantOfKey(digest.tenantKey);
  const found = await readItems(tx, digestId);
  const items = found.slice(0, MAX_ITEMS);
  const [[user], optedOut] = await Promise.all([
    findUsersInTenant(tx, tenantId, [userId]),
    readOptedOut(tx, userId),
  ]);
  const exclusionOf = (item: Item) =>
    item.isCancelled ? CANCELLED : !user ? NOT_A_USER : optedOut.has(item.categoryKey) ? OPTED_OUT : null;
  for (const reason of [CANCELLED, NOT_A_USER, OPTED_OUT]) {
    await exclude(tx, items.filter((item) => exclusionOf(item) === reason), reason);
  }
  const included = items.filter((item) => exclusionOf(item) === null);
  const notificationId = user && included.length > 0
    ? await mailDigest(p, tx, tenantId, user, included)
    : null;
  await tx`update notification_digests set closed_at = now(), notification_id = ${notificationId},
      settled_at = case when ${notificationId}::uuid is null then now() end where id = ${digestId}`;
  if (found.length > MAX_ITEMS) {
    const next = await openDigests(p, tx, tenantId, [{ userId, dueAt: p.clock.now() }]);
    await tx`update notification_recipients set digest_id = ${next.get(userId)?.id ?? null}
      where digest_id = ${digestId} and status = 'Collected'
        and id <> all(${included.map(({ id }) => id)}::uuid[])`;
  }
  await settleCollected(tx, items.map((item) => item.notificationId));
  return { notificationId, messages: notificationId === null ? 0 : included.length };
}

/** Reads the oldest messages of the digest: one more than a mail may hold, bodies cut to READ_LENGTH. */
async function readItems(tx: Tx, digestId: string): Promise<Item[]> {
  return await tx<Item[]>`
    select r.id, n.id as notification_id, n.status = 'Cancelled' as is_cancelled, n.category,
      lower(n.category) as category_key, n.subject, left(n.html_body, ${READ_LENGTH}) as html_body,
      left(n.text_body, ${READ_LENGTH}) as text_body
    from notification_recipients r join notifications n on n.id = r.notification_id
    where r.digest_id = ${digestId} and r.status = 'Collected' order by r.id limit ${MAX_ITEMS + 1}`;
}

/** The outcome of a message that is left out of the digest, as written to its recipient. */
interface Exclusion {
  status: "Skipped" | "Refused";
  reason: SkipReason | null;
  message: string;
}
const CANCELLED: Exclusion = { status: "Skipped", reason: null, message: "The message was cancelled." };
const NOT_A_USER: Exclusion = {
  status: "Skipped",
  reason: "NotAUser",
  message: "No longer an active user of this tenant.",
};
const OPTED_OUT: Exclusion = {
  status: "Skipped",
  reason: "OptedOut",
  message: "The user no longer wants this category by email.",
};

async function exclude(tx: Tx, items: Item[], { status, reason, message }: Exclusion): Promise<void> {
  if (items.length === 0) return;
  await tx`update notification_recipients
    set status = ${status}, reason = ${reason}, error_message = ${message}, deliver_after = null
    where id = any(${items.map((item) => item.id)}::uuid[]) and status = 'Collected'`;
}

/**
 * Queues the digest mail and returns its id. If the mail is refused (a tenant's own template may require other
 * variables), all its messages become Refused and it returns null.
 */
async function mailDigest(
  p: NotificationPlatform,
  tx: Tx,
  tenantId: string | null,
  user: AddressedUser,
  items: Item[],
): Promise<string | null> {
  const quoted = await Promise.all(items.map(async ({ subject, category, textBody, htmlBody }) => {
    const url = await unsubscribeUrl(p, { userId: user.id, category, tenantId });
    const text = insertUnsubscribeUrl(
      textBody ?? (htmlBody === null ? "" : await textOf(p, tenantId, htmlBody)),
      url,
    );
    return { subject: subject ?? category, text: shortened(text), category, unsubscribeUrl: url };
  }));
  const { email: address, firstName } = user;
  try {
    const { notificationId } = await sendNotification(p, tx, { tenantId, userId: null, traceId: null }, {
      channel: "Email",
      recipients: [{ address, displayName: fullName(user) }],
      templateSlug: DIGEST_TEMPLATE,
      templateData: {
        firstName,
        items: quoted,
        count: quoted.length,
        isSingle: quoted.length === 1,
      },
      locale: await readDigestLocale(tx, user.id),
      isConfidential: true, // its unsubscribe links act for the user without a sign-in
    });
    return notificationId;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await exclude(tx, items, {
      status: "Refused",
      reason: null,
      message: `The digest could not be made: ${error.message}`,
    });
    return null;
  }
}

const shortened = (text: string): string => {
  const trimmed = text.trim();
  return trimmed.length <= TEXT_LENGTH ? trimmed : `${cutText(trimmed, TEXT_LENGTH)}…`;
};
