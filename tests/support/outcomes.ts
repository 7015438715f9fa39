import assert from "node:assert/strict";
import type { HttpAnswer } from "./http.ts";

type Answer = Pick<HttpAnswer, "status" | "body">;

const outcomeOf = ({ status, body }: Answer): string =>
  status < 400 ? String(status) : `${status} ${body?.code ?? body?.error ?? ""}`.trim();

/** The status of an answer, with the code of a problem or error of OAuth: "204", "404 USER_NOT_FOUND". */
export const outcome = async (answer: Answer | Promise<Answer>): Promise<string> => outcomeOf(await answer);

/** Fails unless all answers have this outcome. */
export async function refused(expected: string, ...answers: (Answer | Promise<Answer>)[]): Promise<void> {
  for (const [index, answer] of (await Promise.all(answers)).entries()) {
    const which = answers.length > 1 ? `answer ${index}: ` : "";
    assert.equal(outcomeOf(answer), expected, which + JSON.stringify(answer.body));
  }
}

/** The body of an answer, which must be of success. */
// deno-lint-ignore no-explicit-any -- answers of every shape
export async function accepted(answer: Answer | Promise<Answer>, expected?: number): Promise<any> {
  const { status, body } = await answer;
  const isExpected = expected === undefined ? status < 400 : status === expected;
  assert.ok(isExpected, `${status} ${JSON.stringify(body)}`);
  return body;
}
