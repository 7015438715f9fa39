import assert from "node:assert/strict";
import { addressOf, declaredPages, variants } from "./all_pages.ts";
import { makeSamples } from "./samples.ts";
import { type Looks, openConsole, setupConsole, type Viewing } from "./support.ts";

const { t, inBrowser } = await setupConsole({ OUTBOUND_ALLOW: "127.0.0.1" });
const samples = await makeSamples(t);
const tenantId = t.platformTenantId;
const permissions = ["admin:system", "read:files", "upload:files", "retain:files", "purge:files"];
const administrator = await t.actor({ tenantId, permissions });
const addresses = [
  ...declaredPages(t).shown.map((page) => addressOf(samples, page)),
  ...variants(samples, tenantId),
];
const PHONE = { width: 390, height: 844 };

/** Opens every page once, with all that is folded in it, and makes the checks, which may change the window. */
function walk(looks: Looks, checks: ((viewing: Viewing) => Promise<void>)[]): void {
  const name = Object.entries(looks).join();
  inBrowser(`every page can be used by everyone and reports no error: ${name}`, async (browser) => {
    const viewing = await openConsole(browser, t, administrator, looks);
    const { page } = viewing;
    const window = page.viewportSize() ?? assert.fail();
    const faults: string[] = [];
    for (const address of addresses) {
      await viewing.open(address);
      for (const summary of await page.locator("main summary").all()) {
        await page.keyboard.press("Escape"); // an open menu may lie above the next one
        if (await summary.isVisible()) await summary.click(); // a phone shows fewer columns of a list
      }
      await page.keyboard.press("Escape");
      for (const check of checks) await check(viewing).catch((fault) => faults.push(String(fault)));
      await page.setViewportSize(window);
    }
    await viewing.close();
    assert.deepEqual(faults, []);
  });
}

// The structure does not depend on the language, nor the colours on the window; texts may be too wide in each.
walk({ locale: "en-GB" }, [
  (viewing) => viewing.requireNoSidewaysScroll(),
  (viewing) => viewing.requireAccessible(),
  (viewing) => viewing.requireContrastIn("dark", "html"),
  async (viewing) => {
    await viewing.page.setViewportSize(PHONE);
    await viewing.requireNoSidewaysScroll();
  },
]);
walk({ locale: "pt-PT", phone: true }, [
  (viewing) => viewing.requireNoSidewaysScroll(),
  (viewing) => viewing.requireAccessible(),
]);
