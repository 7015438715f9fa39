import assert from "node:assert/strict";
import { addressOf, declaredPages, variants } from "./all_pages.ts";
import { makeSamples } from "./samples.ts";
import { type Looks, openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole({ OUTBOUND_ALLOW: "127.0.0.1" });
const samples = await makeSamples(t);
const tenantId = t.platformTenantId;
const permissions = ["admin:system", "read:files", "upload:files", "retain:files", "purge:files"];
const administrator = await t.actor({ tenantId, permissions });
const addresses = [
  ...declaredPages(t).shown.map((page) => addressOf(samples, page)),
  ...variants(samples, tenantId),
];

for (const locale of ["en-GB", "pt-PT"] as const) {
  for (const looks of [{ theme: "light" }, { theme: "dark" }, { phone: true }] satisfies Looks[]) {
    const name = `${locale}, ${Object.entries(looks).join()}`;
    inBrowser(`every page can be used by everyone and reports no error: ${name}`, async (browser) => {
      const viewing = await openConsole(browser, t, administrator, { locale, ...looks });
      const faults: string[] = [];
      for (const address of addresses) {
        await viewing.open(address);
        for (const summary of await viewing.page.locator("main summary").all()) await summary.click();
        for (const check of [viewing.requireNoSidewaysScroll(), viewing.requireAccessible()]) {
          await check.catch((fault) => faults.push(String(fault)));
        }
      }
      await viewing.close();
      assert.deepEqual(faults, []);
    });
  }
}
