// Helpers of the access tests that read answers and stored data.
import assert from "node:assert/strict";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import type { TestService } from "../../support/setup.ts";

export function refused(answer: HttpAnswer, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));
}

/** The id of the created object. */
export async function idOf(answer: Promise<HttpAnswer>): Promise<string> {
  const { status, body } = await answer;
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

/** The names on a page. */
export const names = ({ body }: HttpAnswer): string[] =>
  body.items.map((item: { name: string }) => item.name);

/** Whether the caller's token is still valid. */
export const isSignedIn = async (caller: HttpClient): Promise<boolean> =>
  (await caller.get("/auth/me")).status === 200;

/** The audited actions on an object. */
export async function auditOf(t: TestService, targetId: string): Promise<string[]> {
  const rows = await t.steward.platform.sql<{ action: string }[]>`
    select action from audit_log where target_id = ${targetId} order by id`;
  return rows.map((row) => row.action);
}
