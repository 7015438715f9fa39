// One page of each kind, in Chromium: what a browser and axe find, and the checks of the other tests cannot.
import assert from "node:assert/strict";
import { chromiumInstalled, openBrowser } from "../../support/chromium.ts";
import { setupShared } from "../../support/setup.ts";
import { openConsole } from "./support.ts";

const t = await setupShared();

/** Makes a report of the content security policy an error of the console, which `close` requires to be none. */
const REPORT_REFUSALS = `document.addEventListener("securitypolicyviolation", (event) =>
  console.error("refused by the policy: " + event.effectiveDirective + " " + event.blockedURI))`;

/** `contrast_test.ts` compares the colours without a browser, and the deep tier those of every page. */
const WITHOUT_CONTRAST = { rules: { "color-contrast": { enabled: false } } };

Deno.test({
  name: "one page of each kind is accessible and reports no error, where Chromium is installed",
  ignore: !chromiumInstalled,
  async fn() {
    const actor = await t.actor({ permissions: ["admin:system"] });
    const made = await actor.post("/api/v1/notification-templates", {
      slug: "order-shipped",
      name: "Order shipped",
      locale: "en",
      subjectTemplate: "Order {{ number }}",
      htmlBodyTemplate: "<p>Dear {{ name }}</p>",
    });
    assert.equal(made.status, 201);
    await using browser = await openBrowser();
    assert.ok(browser);
    await using viewing = await openConsole(browser, t, actor);
    await viewing.page.addInitScript(REPORT_REFUSALS);
    const faults: string[] = [];
    const inspect = async (kind: string, address: string) => {
      const status = await viewing.open(address);
      if (status !== 200) faults.push(`${kind}: ${address} has the status ${status}`);
      const path = new URL(viewing.page.url()).pathname;
      if (path !== `/console/${address}`) faults.push(`${kind}: ${address} leads to ${path}`);
      await viewing.requireAccessible(WITHOUT_CONTRAST).catch((fault) =>
        faults.push(`${kind}: ${fault.message}`)
      );
    };
    await inspect("overview", "");
    await inspect("list", "users");
    await inspect("detail", `users/${actor.userId}`);
    await inspect("form", "users/new");
    await inspect("editor", `templates/${made.body.id}`);
    await viewing.page.context().clearCookies();
    await inspect("sign-in", "sign-in");
    assert.deepEqual(faults, []);
  },
});
