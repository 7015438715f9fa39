import assert from "node:assert/strict";
import { digest, newSecret } from "../../../domain/shared/secrets.ts";
import type { HttpAnswer } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
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

export const subjectsTo = async (s: TestService, email: string): Promise<string[]> =>
  (await mailsTo(s, email)).map(({ subject }) => subject);

/** The token of the link in a mail; empty if there is none. */
export const tokenIn = (mail?: Mail): string => /#token=([\w-]{43})/.exec(mail?.textBody ?? "")?.[1] ?? "";

/** The token of the newest link that was mailed to an address by the jobs of `act`; empty if there is none. */
export async function tokenOf(
  s: TestService,
  email: string,
  act: () => Promise<HttpAnswer>,
): Promise<string> {
  await accepted(withJobs(s, act));
  return (await mailsTo(s, email)).map(tokenIn).find(Boolean) ?? "";
}

/** The token of a new link to reset the password, which is not mailed. */
export async function resetTokenFor(s: TestService, email: string): Promise<string> {
  const token = newSecret();
  await s.steward.platform.sql`insert into password_resets (token_hash, user_id, requester, expires_at)
    select ${
    digest(token)
  }, id, 'address:192.0.2.1', now() + interval '30 minutes' from users where email = ${email}`;
  return token;
}
