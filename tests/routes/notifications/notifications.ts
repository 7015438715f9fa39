import assert from "node:assert/strict";
import type { Actor, TestService } from "../../support/setup.ts";
import type { HttpAnswer } from "../../support/http.ts";

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

/** The id of the job that delivers a notification. */
export async function jobOf(t: TestService, notificationId: string): Promise<string> {
  const [row] = await t.steward.platform.sql<{ jobId: string }[]>`
    select job_id from notifications where id = ${notificationId}`;
  return row?.jobId ?? assert.fail(`the notification ${notificationId} has no job`);
}

const ENDED = ["Succeeded", "Failed", "DeadLettered", "Cancelled"];

/** Waits until the delivery job has one of `statuses` and returns the notification's detail. */
export async function settledDetail(
  t: TestService,
  actor: Actor,
  id: string,
  statuses = ENDED,
): Promise<HttpAnswer["body"]> {
  await t.settled(await jobOf(t, id), statuses);
  return (await actor.get(`${path}/${id}`)).body;
}

/** Sends a message and returns its id. */
export async function sent(actor: Actor, body: Record<string, unknown>): Promise<string> {
  const answer = await actor.post(`${path}/send`, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.notificationId;
}

/** Makes the job of a notification due now if it waits for its time or its retry. */
export async function hurry(t: TestService, notificationId: string): Promise<void> {
  await t.steward.platform.sql`
    update jobs set due_at = now(), status = 'Enqueued'
    where id = (select job_id from notifications where id = ${notificationId}) and status in ('Scheduled', 'Failed')`;
  await t.steward.sweep();
}

export function refused({ status, body }: HttpAnswer, expected: number, code: string): void {
  assert.deepEqual([status, body.code], [expected, code], JSON.stringify(body));
}
