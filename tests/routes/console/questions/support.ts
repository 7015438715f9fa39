import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import type { Actor, TestService } from "../../../support/setup.ts";
import { type Looks, openConsole, type Viewing } from "../support.ts";

/** An operator's question is answered with at most this many clicks, from the overview on. */
const MOST_CLICKS = 5;

/** Reports each press of a pointer and each choice in a select. A press on a label counts once. */
const COUNT_CLICKS =
  `for (const [event, counts] of [["pointerdown", (e) => e.isTrusted], ["change", (e) => e.target.matches("select")]]) {
  addEventListener(event, (e) => { if (counts(e)) clicked(); }, { capture: true });
}`;

/**
 * Opens the console's overview as `actor` and runs `answer`, which finds the answer to a question and asserts it. Fails
 * if that takes more than five clicks. Typing is no click; choosing an option of a select is one.
 */
export async function answerQuestion(
  browser: Browser,
  t: TestService,
  actor: Actor,
  answer: (viewing: Viewing) => Promise<void>,
  looks: Looks = {},
): Promise<void> {
  const viewing = await openConsole(browser, t, actor, looks);
  let clicks = 0;
  await viewing.page.exposeFunction("clicked", () => clicks++);
  await viewing.page.addInitScript(COUNT_CLICKS);
  await viewing.open("");
  await answer(viewing);
  await viewing.close();
  assert.ok(clicks <= MOST_CLICKS, `${clicks} clicks, expected at most ${MOST_CLICKS}`);
}
