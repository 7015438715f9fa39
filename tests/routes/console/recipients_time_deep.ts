import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { browse } from "./plain_browser.ts";

const t = await setupShared();

Deno.test("the time to read the recipients of a message grows with their length", async () => {
  const browser = await browse(t, await t.actor({ permissions: ["send:notifications"] }));
  const recipients = `${`Zoë${" ".repeat(40_000)}<a\n`.repeat(2)}Ann < Bo <not an address>`;
  const fields = { channel: "Email", source: "text", recipients, subject: "Hello", textBody: "Hi" };
  const times: number[] = [];
  for (let n = 0; n < 2; n++) {
    const started = performance.now();
    const page = await browser.force("notifications/send", fields);
    times.push(performance.now() - started);
    assert.equal(page.shows("recipients.1.address").status, 400);
  }
  assert.ok(Math.min(...times) < 1_500, `${times} ms`);
});
