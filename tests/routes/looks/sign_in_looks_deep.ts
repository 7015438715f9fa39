// Pages in a tenant's looks, in Chromium.
import assert from "node:assert/strict";
import { setupConsole, Viewing } from "../console/support.ts";
import { authorizeUrl, makeClient } from "../oauth/flow.ts";
import { tenantWithLooks } from "./hosted.ts";

const { t, inBrowser } = await setupConsole();

inBrowser(
  "sign-in and unsubscribe pages in a tenant's looks are accessible on a phone, light and dark",
  async (browser) => {
    const { tenantId } = await tenantWithLooks(t, { productName: "Northwind" });
    const client = await makeClient(t.systemAdmin, { firstParty: false });
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    const view = new Viewing(page, t.url, errors);
    const claim = { userId: crypto.randomUUID(), category: "news", tenantId };
    const token = await t.steward.platform.unsubscribeTokens.sign(claim, new Date());
    const to = `../oauth/authorize${authorizeUrl(t, client, { tenant: tenantId }).search}`;
    const paths = [
      `/console/sign-in?to=${encodeURIComponent(to)}`,
      `/api/v1/notifications/unsubscribe?token=${token}`,
    ];
    for (const path of paths) {
      await page.goto(t.url + path);
      assert.equal(await page.evaluate("document.querySelector('img.logo').naturalWidth"), 400);
      await view.requireAccessible();
      await view.requireContrastIn("dark");
      await view.requireNoSidewaysScroll();
    }
    await view.close();
  },
);
