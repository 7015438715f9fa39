import { z } from "zod";
import type { Sql } from "../../infra/postgres/postgres.ts";
import { defineJob, type JobContext } from "../jobs/job_type.ts";
import { firstIdOf } from "../shared/ids.ts";
import { sweepAttachments } from "./attachments.ts";
import type { NotificationPlatform } from "./platform.ts";

const AT_ONCE = 1_000;
const DAY_MS = 86_400_000;
const FIRST = "00000000-0000-0000-0000-000000000000";

/** Until when the content and the facts of messages are kept. */
interface Cutoffs {
  /** Of older messages, the content is deleted. Read in-app notifications that are older are deleted. */
  content: Date;
  /** Older messages and in-app notifications are deleted. */
  facts: Date;
}

/** Deletes the content, and later the facts, of old messages and in-app notifications. */
export const retentionJob = defineJob({
  name: "notifications.retention",
  args: z.object({}),
  cron: "23 2 * * *",
  timeoutMs: 30 * 60_000,
  async run(_args, { platform: p, db, signal }: JobContext<NotificationPlatform>) {
    const before = (days: number) => new Date(p.clock.now().getTime() - days * DAY_MS);
    const facts = before(p.config.NOTIFICATION_RETENTION_DAYS);
    const content = before(
      Math.min(p.config.NOTIFICATION_BODY_RETENTION_DAYS, p.config.NOTIFICATION_RETENTION_DAYS),
    );
    const cutoffs = { content, facts };
    const messages = await walk((after) => expireMessages(db, after, cutoffs), signal);
    await sweepAttachments(p);
    await deleteReceipts(db, facts, signal);
    const inApp = await walk((after) => deleteInApp(db, after, cutoffs), signal);
    return {
      bodiesDeleted: messages.expired,
      messagesDeleted: messages.deleted,
      inAppDeleted: inApp.deleted,
    };
  },
});

interface Step {
  expired: number;
  deleted: number;
  /** The id that the next step begins after; null: there are no further rows. */
  last: string | null;
}

/** Runs the steps of a walk through a table in the order of its ids. */
async function walk(step: (after: string) => Promise<Step | undefined>, signal: AbortSignal) {
  const sum = { expired: 0, deleted: 0 };
  for (let after: string | null = FIRST; after !== null && !signal.aborted;) {
    const done: Step | undefined = await step(after);
    sum.expired += done?.expired ?? 0;
    sum.deleted += done?.deleted ?? 0;
    after = done?.last ?? null;
  }
  return sum;
}

/**
 * One step through messages that ended before the cutoffs. A message that may still be sent stays, and so does one that
 * still holds a file: when its content has expired, the file is released, and the next run deletes the message.
 */
async function expireMessages(q: Sql, after: string, { content, facts }: Cutoffs): Promise<Step | undefined> {
  const [step] = await q<Step[]>`
    with page as materialized (
      select id, status, updated_at, body_expired_at, exists (select from notification_attachments a
          where a.notification_id = n.id and a.is_held) as holds_file
      from notifications n where id > ${after} and id < ${firstIdOf(content)} order by id limit ${AT_ONCE}
    ), ended as (
      select *, updated_at < ${facts} and not holds_file as is_old from page
      where updated_at < ${content} and status in ('Sent', 'Failed', 'DeadLettered', 'Cancelled')
    ), deleted as (
      delete from notifications n using ended e
      where n.id = e.id and e.is_old and n.status = e.status and n.updated_at = e.updated_at returning 1
    ), expired as (
      update notifications n set html_body = null, text_body = null, template_data = null, push_data = null,
        body_expired_at = now()
      from ended e
      where n.id = e.id and not e.is_old and e.body_expired_at is null and n.status = e.status
        and n.updated_at = e.updated_at returning 1
    )
    select (select count(*) from expired) as expired, (select count(*) from deleted) as deleted,
      (select id from page order by id desc limit 1) as last`;
  return step;
}

/** Deletes the receipts of providers' requests that came before the cutoff. */
async function deleteReceipts(q: Sql, before: Date, signal: AbortSignal): Promise<void> {
  for (let deleted = AT_ONCE; deleted === AT_ONCE && !signal.aborted;) {
    const { count } = await q`
      delete from notification_feedback_receipts r using (select provider, receipt from notification_feedback_receipts
        where received_at < ${before} limit ${AT_ONCE}) old
      where r.provider = old.provider and r.receipt = old.receipt`;
    deleted = count;
  }
}

/** One step through in-app notifications: read ones go when the content of messages goes, others with the facts. */
async function deleteInApp(q: Sql, after: string, { content, facts }: Cutoffs): Promise<Step | undefined> {
  const [step] = await q<Step[]>`
    with page as materialized (
      select id from user_notifications where id > ${after} and id < ${
    firstIdOf(content)
  } order by id limit ${AT_ONCE}
    ), deleted as (
      delete from user_notifications n using page
      where n.id = page.id and (n.is_read and n.created_at < ${content} or n.created_at < ${facts}) returning 1
    )
    select 0 as expired, (select count(*) from deleted) as deleted,
      (select id from page order by id desc limit 1) as last`;
  return step;
}
