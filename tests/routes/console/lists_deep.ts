import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { browseAt } from "./plain_browser.ts";

const t = await setupShared();

Deno.test("more than 10,000 rows become a file in the registry, and a message in the inbox", async () => {
  const owner = await t.actor({ permissions: ["manage:settings"] });
  await t.steward.platform.sql`insert into settings (id, tenant_id, key, value)
    select gen_random_uuid(), ${owner.tenantId}, 'many.' || n, 'value' from generate_series(1, 10050) n`;
  const browser = await browseAt(t, owner, "settings?search=many.");
  (await browser.follow("CSV")).shows("more than 10,000 rows");
  const { address } = await browser.press("Make the file");
  (await browser.waitFor("Download the file")).shows("10,050 of 10,050");
  const inbox = await until(async () =>
    (await owner.get(`/api/v1/user-notifications?userId=${owner.userId}`)).body.items[0]
  );
  assert.deepEqual([inbox.title, inbox.actionUrl], ["CSV of settings", t.url + address]);
  const text = await until(async () => {
    const { location } = await browser.open(`${address}/download`);
    return location.includes("://") ? await (await fetch(location)).text() : null;
  });
  assert.equal(text?.trimEnd().split("\r\n").length, 10_051);
});
