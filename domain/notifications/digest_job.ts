import { z } from "zod";
import { transact, type Tx } from "../../infra/postgres/postgres.ts";
import { type AddressedUser, findUsersInTenant } from "../access/user_lookup.ts";
import { defineJob, type JobType } from "../jobs/job_type.ts";
import { Problem } from "../problems/problem.ts";
import type { Platform } from "../shared/platform.ts";
import { DIGEST_JOB, openDigests } from "./digest_collect.ts";
import { DIGEST_TEMPLATE, settleCollected } from "./digest_settle.ts";
import { readDigestLocale, readOptedOut } from "./preferences.ts";
import { textOf } from "./templates/render.ts";
import { sendNotification } from "./send.ts";
import type { SkipReason } from "./status.ts";
import { tenantOfKey } from "./tenant_key.ts";
import { unsubscribeUrl } from "./unsubscribe.ts";
import { withOwnLink } from "./unsubscribe_mail.ts";

/** Messages of one mail; what is more goes into a further one. */
const MOST_ITEMS = 200;
const TEXT_LENGTH = 600;
/** What is read of a body; much of it may be style. */
const READ_LENGTH = 100_000;

const args = z.object({ digestId: z.uuid() });

interface Item {
  id: string;
  notificationId: string;
  isCancelled: boolean;
  category: string;
  /** As preferences spell it. */
  categoryKey: string;
  subject: string | null;
  htmlBody: string | null;
  textBody: string | null;
}

/** Turns one user's collected messages into one mail, in one transaction: it exists exactly when they are in it. */
export const digestJob = (p: Platform): JobType<z.output<typeof args>> =>
  defineJob({
    name: DIGEST_JOB,
    args,
    run: ({ digestId }) => transact(p.sql, (tx) => closeDigest(p, tx, digestId)),
  });

async function closeDigest(p: Platform, tx: Tx, digestId: string): Promise<unknown> {
  const [digest] = await tx<{ tenantKey: string; userId: string }[]>`
    select tenant_key, user_id from notification_digests
    where id = ${digestId} and closed_at is null for update`;
  if (!digest) return { skipped: "the digest has gone out" };
  const { userId } = digest;
  const tenantId = tenantOfKey(digest.tenantKey);
  const found = await readItems(tx, digestId);
  const items = found.slice(0, MOST_ITEMS);
  const [[user], optedOut] = await Promise.all([
    findUsersInTenant(tx, tenantId, [userId]),
    readOptedOut(tx, userId),
  ]);
  const fate = (item: Item) =>
    item.isCancelled ? CANCELLED : !user ? GONE : optedOut.has(item.categoryKey) ? OPTED_OUT : null;
  for (const why of [CANCELLED, GONE, OPTED_OUT]) {
    await drop(tx, items.filter((item) => fate(item) === why), why);
  }
  const told = items.filter((item) => fate(item) === null);
  const notificationId = user && told.length > 0 ? await mailDigest(p, tx, tenantId, user, told) : null;
  await tx`update notification_digests set closed_at = now(), notification_id = ${notificationId},
      settled_at = case when ${notificationId}::uuid is null then now() end where id = ${digestId}`;
  if (found.length > MOST_ITEMS) {
    const next = await openDigests(p, tx, tenantId, [{ userId, dueAt: p.clock.now() }]);
    await tx`update notification_recipients set digest_id = ${next.get(userId)?.id ?? null}
      where digest_id = ${digestId} and status = 'Collected' and id <> all(${
      told.map(({ id }) => id)
    }::uuid[])`;
  }
  await settleCollected(tx, items.map((item) => item.notificationId));
  return { notificationId, messages: notificationId === null ? 0 : told.length };
}

/** The oldest messages, one more than a mail may hold; of long bodies only as much as a digest could quote. */
async function readItems(tx: Tx, digestId: string): Promise<Item[]> {
  return await tx<Item[]>`
    select r.id, n.id as notification_id, n.status = 'Cancelled' as is_cancelled, n.category,
      lower(n.category) as category_key, n.subject, left(n.html_body, ${READ_LENGTH}) as html_body,
      left(n.text_body, ${READ_LENGTH}) as text_body
    from notification_recipients r join notifications n on n.id = r.notification_id
    where r.digest_id = ${digestId} and r.status = 'Collected' order by r.id limit ${MOST_ITEMS + 1}`;
}

interface Drop {
  status: "Skipped" | "Refused";
  reason: SkipReason | null;
  message: string;
}
const CANCELLED: Drop = { status: "Skipped", reason: null, message: "The message was cancelled." };
const GONE: Drop = {
  ...{ status: "Skipped", reason: "NotAUser", message: "No longer an active user of this tenant." },
};
const OPTED_OUT: Drop = {
  ...{ status: "Skipped", reason: "OptedOut", message: "The user no longer wants this category by email." },
};

async function drop(tx: Tx, items: Item[], { status, reason, message }: Drop): Promise<void> {
  if (items.length === 0) return;
  await tx`update notification_recipients
    set status = ${status}, reason = ${reason}, error_message = ${message}, deliver_after = null
    where id = any(${items.map((item) => item.id)}::uuid[]) and status = 'Collected'`;
}

/** Queues the mail; where it cannot even be written (a tenant's own template asks for more), all its messages failed. */
async function mailDigest(
  p: Platform,
  tx: Tx,
  tenantId: string | null,
  user: AddressedUser,
  items: Item[],
): Promise<string | null> {
  const told = await Promise.all(items.map(async ({ subject, category, textBody, htmlBody }) => {
    const url = await unsubscribeUrl(p, { userId: user.id, category });
    const text = withOwnLink(textBody ?? (htmlBody === null ? "" : await textOf(p, tenantId, htmlBody)), url);
    return { subject: subject ?? category, text: shortened(text), category, unsubscribeUrl: url };
  }));
  const { email: address, firstName, lastName } = user;
  try {
    const { notificationId } = await sendNotification(p, tx, { tenantId, userId: null, traceId: null }, {
      channel: "Email",
      recipients: [{ address, displayName: `${firstName} ${lastName}`.trim() || null }],
      templateSlug: DIGEST_TEMPLATE,
      templateData: {
        ...{ firstName, items: told, count: told.length, isSingle: told.length === 1 },
      },
      locale: await readDigestLocale(tx, user.id),
      isConfidential: true, // its links act for the user
    });
    return notificationId;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    await drop(tx, items, { status: "Refused", reason: null, message: `No digest: ${error.message}` });
    return null;
  }
}

const shortened = (text: string): string => {
  const trimmed = text.trim();
  return trimmed.length <= TEXT_LENGTH ? trimmed : `${trimmed.slice(0, TEXT_LENGTH).toWellFormed()}…`;
};
