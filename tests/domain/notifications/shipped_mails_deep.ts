import assert from "node:assert/strict";
import { openBrowser } from "../../support/chromium.ts";
import { setupShared } from "../../support/setup.ts";
import { shippedMails } from "./shipped_mails.ts";

const t = await setupShared({ JOB_CONCURRENCY: "0" });
const browser = await openBrowser();
Deno.test.afterAll(async () => {
  await browser?.close();
  await t.stop();
});
const BACKGROUNDS = { light: "rgb(245, 246, 248)", dark: "rgb(15, 19, 24)" } as const;

Deno.test({
  name: "shipped mails fit a narrow screen and use the reader's colour scheme (Chromium)",
  ignore: browser === null,
  async fn() {
    const page = await (browser ?? assert.fail()).newPage();
    await page.setViewportSize({ width: 320, height: 600 });
    for (const { htmlBody } of await shippedMails(t.platform)) {
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setContent(htmlBody ?? "");
        const shown = await page.evaluate(
          "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]",
        );
        assert.deepEqual(shown, [320, BACKGROUNDS[colorScheme]]);
      }
    }
  },
});
