import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import type { Actor, TestService } from "../../support/setup.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { until } from "../../support/until.ts";

export { refused } from "../../support/answers.ts";

type Body = HttpAnswer["body"];

export const path = "/api/v1/notifications";
export const templates = "/api/v1/notification-templates";

/** An email to one person; `change` overrides. */
export function email(change: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    channel: "Email",
    recipients: [{ address: "ann@example.test", displayName: "Ann" }],
    subject: "Hello",
    htmlBody: "<p>Hello <b>Ann</b></p>",
    ...change,
  };
}

export const to = (...addresses: string[]) => ({ recipients: addresses.map((address) => ({ address })) });

/** The id of the job that delivers a notification. */
export async function jobOf(t: TestService, notificationId: string): Promise<string> {
  const [row] = await t.steward.platform.sql<{ jobId: string }[]>`
    select job_id from notifications where id = ${notificationId}`;
  return row?.jobId ?? assert.fail(`the notification ${notificationId} has no job`);
}

const ENDED = ["Succeeded", "Failed", "DeadLettered", "Cancelled"];

/** Waits until the delivery job has one of `statuses` and returns the notification's detail. */
export async function settledDetail(t: TestService, by: Actor, id: string, statuses = ENDED): Promise<Body> {
  await t.settled(await jobOf(t, id), statuses);
  return (await by.get(`${path}/${id}`)).body;
}

export async function sent(actor: Actor, body: Record<string, unknown>): Promise<string> {
  return (await accepted(actor.post(`${path}/send`, body), 200)).notificationId;
}

/** Sends a message and waits for the outcome of its first attempt. */
export const delivered = async (t: TestService, actor: Actor, body: Record<string, unknown>) =>
  await settledDetail(t, actor, await sent(actor, body));

/**
 * Makes the job of a notification due now if it waits for its time or its retry.
 * @param attempts only while the notification has fewer attempts
 */
export async function hurry(t: TestService, notificationId: string, attempts = 1_000): Promise<void> {
  const { count } = await t.steward.platform.sql`
    update jobs set due_at = now() - interval '1 ms', status = 'Enqueued'
    where id = (select job_id from notifications where id = ${notificationId}) and status in ('Scheduled', 'Failed')
      and (select count(*) from notification_attempts where notification_id = ${notificationId}) < ${attempts}`;
  if (count > 0) await t.steward.sweep();
}

/** Runs the next attempt now, and waits until the notification has as many attempts and an outcome. */
export async function nextAttempt(t: TestService, actor: Actor, id: string, attempts: number): Promise<Body> {
  const { body } = await until(async () => {
    await hurry(t, id, attempts); // the job may still end its former attempt
    return await actor.get(`${path}/${id}`);
  }, ({ body }) => body.deliveryAttempts.length === attempts && body.status !== "Sending");
  return body;
}

/**
 * Counted failures of a notification's job, and the minutes from its last attempt to the next one. Whole minutes, because
 * two clocks give the times: the process's and the database's.
 */
export async function retryOf(t: TestService, notificationId: string) {
  const [row] = await t.steward.platform.sql<{ failures: number; minutes: number }[]>`
    select failures, round(extract(epoch from due_at - (select max(attempted_at) from notification_attempts
      where notification_id = ${notificationId})) / 60)::int as minutes
    from jobs where id = (select job_id from notifications where id = ${notificationId})`;
  return row ?? assert.fail(`the notification ${notificationId} has no job`);
}
