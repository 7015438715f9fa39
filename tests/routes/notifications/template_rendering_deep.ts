import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { refused, templates } from "./notifications.ts";

const t = await setupShared();

/** Each render of it takes the maximum time. */
const endless = {
  htmlBodyTemplate:
    "{{#each a}}{{#each @root.a}}{{#each @root.a}}{{#if .}}{{/if}}{{/each}}{{/each}}{{/each}}",
  data: { a: Array(1_000).fill("x") },
};

Deno.test("slow templates block no other request, and one tenant's do not block another's", async () => {
  const slow = await t.actor({ permissions: ["send:notifications"] });
  const quick = await t.actor({ permissions: ["send:notifications"] });
  let pending = 16;
  const busy = Promise.all(Array.from({ length: pending }, async () => {
    const answer = await slow.post(`${templates}/preview`, endless);
    pending--;
    return answer;
  }));
  await until(() => pending < 16); // once the first is rendered, the others wait or run
  for (let n = 0; n < 5; n++) assert.equal((await quick.get(`${templates}?page=${n + 1}`)).status, 200);
  const shown = await quick.post(`${templates}/preview`, { textBodyTemplate: "{{ a }}", data: { a: "b" } });
  assert.equal(shown.body.textBody, "b");
  assert.ok(pending > 5, `${16 - pending} of 16 were filled in before`);
  for (const answer of await busy) refused(answer, 400, "NOTIFICATION_TEMPLATE_INVALID");
});
