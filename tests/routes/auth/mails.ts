import assert from "node:assert/strict";
import type { TestService } from "../../support/setup.ts";

/** A mail in the development outbox. */
export interface Mail {
  subject: string;
  htmlBody: string;
  textBody: string;
}

/** Waits until the jobs that `act` enqueues, and those that they enqueue, have succeeded. */
export async function withJobs<T>(s: TestService, act: () => Promise<T>): Promise<T> {
  const { sql } = s.steward.platform;
  const before = new Set((await sql`select id from jobs`).map((row) => row.id));
  const result = await act();
  for (;;) {
    const jobs = await sql<{ id: string }[]>`select id from jobs order by id`;
    const fresh = jobs.filter(({ id }) => !before.has(id));
    if (fresh.length === 0) return result;
    for (const { id } of fresh) {
      assert.equal(await s.settled(id), "Succeeded");
      before.add(id);
    }
  }
}

/** The delivered mails to an address, newest first. */
export async function mailsTo(s: TestService, email: string): Promise<Mail[]> {
  const { body } = await s.nobody.get("/dev/outbox");
  const address = email.toLowerCase();
  return body.filter((message: { to: unknown }) =>
    JSON.stringify(message.to).toLowerCase().includes(address)
  );
}
