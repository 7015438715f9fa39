// Helpers of the access tests that read answers and stored data.
import assert from "node:assert/strict";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { accepted } from "../../support/outcomes.ts";
import type { TestService } from "../../support/setup.ts";

/** Checks that an answer, or each of several, refuses with this status and code. */
export function refused(answers: HttpAnswer | HttpAnswer[], status: number, code: string, name = ""): void {
  for (const { status: found, body } of [answers].flat()) {
    assert.deepEqual([found, body.code], [status, code], `${name} ${JSON.stringify(body)}`);
  }
}

/** Checks a refusal with VALIDATION_ERROR, of which an error begins with `field`. */
export function invalid(answer: HttpAnswer, field: RegExp | string, name = ""): void {
  refused(answer, 400, "VALIDATION_ERROR", name);
  const errors: string[] = answer.body.errors;
  const isMeant = (error: string) =>
    typeof field === "string" ? error.startsWith(`${field}:`) : field.test(error);
  assert.ok(errors.some(isMeant), `${name}: expected ${field}, found ${errors}`);
}

/** The statuses of simultaneous requests, sorted. */
export const statuses = (answers: HttpAnswer[]): number[] => answers.map(({ status }) => status).sort();

/** The answers of simultaneous requests. */
export const atOnce = <T>(count: number, send: (n: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, n) => send(n)));

/** The id of the created object. */
export const idOf = async (answer: Promise<HttpAnswer>): Promise<string> => (await accepted(answer, 201)).id;

/** One member of each item on a page. */
export const column = ({ body }: HttpAnswer, member: string): string[] =>
  body.items.map((item: Record<string, string>) => item[member]);

/** The names on a page. */
export const names = (answer: HttpAnswer) => column(answer, "name");

/** The permission codes of a role, or of the items of a page. */
export const codes = (body: { permissions?: Coded[]; items?: Coded[] }): string[] =>
  (body.items ?? body.permissions ?? []).map(({ code }) => code);
interface Coded {
  code: string;
}

/** Whether the caller's token is still valid. */
export const isSignedIn = async (caller: HttpClient): Promise<boolean> =>
  (await caller.get("/auth/me")).status === 200;

/** The audited actions on an object. */
export async function auditOf(t: TestService, targetId: string): Promise<string[]> {
  const rows = await t.steward.platform.sql<{ action: string }[]>`
    select action from audit_log where target_id = ${targetId} order by id`;
  return rows.map((row) => row.action);
}
