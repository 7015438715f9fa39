// What the tests of access administration look for in answers, and in what is left behind.
import assert from "node:assert/strict";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import type { TestService } from "../../support/setup.ts";

export function refused(answer: HttpAnswer, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));
}

/** The id of what was created. */
export async function idOf(answer: Promise<HttpAnswer>): Promise<string> {
  const { status, body } = await answer;
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

/** The names on a page. */
export const names = ({ body }: HttpAnswer): string[] =>
  body.items.map((item: { name: string }) => item.name);

/** Is the caller's token still good? */
export const isSignedIn = async (caller: HttpClient): Promise<boolean> =>
  (await caller.get("/auth/me")).status === 200;

/** What was done to something, as the audit log tells it. */
export async function auditOf(t: TestService, targetId: string): Promise<string[]> {
  const rows = await t.steward.platform.sql<{ action: string }[]>`
    select action from audit_log where target_id = ${targetId} order by id`;
  return rows.map((row) => row.action);
}
