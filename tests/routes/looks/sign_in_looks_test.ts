import assert from "node:assert/strict";
import { signUnsubscribe } from "../../../domain/notifications/unsubscribe_token.ts";
import { setupConsole, Viewing } from "../console/support.ts";
import { authorizeUrl, makeClient, signedInBrowser } from "../oauth/flow.ts";
import { tenantWithLooks } from "./hosted.ts";

const { t, inBrowser } = await setupConsole();
const { systemAdmin } = t;
const { tenantId, looks } = await tenantWithLooks(t, { productName: "Northwind" });
const client = await makeClient(systemAdmin, { firstParty: false });

const signInPage = async (to: string) => {
  const { body, headers } = await t.nobody.get(`/console/sign-in?to=${encodeURIComponent(to)}`);
  return { html: body as string, policy: headers.get("content-security-policy") ?? "" };
};
const forClient = (more: Record<string, string> = {}) =>
  signInPage(`../oauth/authorize${authorizeUrl(t, client, more).search}`);

Deno.test("the sign-in page for a client has the looks of the wanted tenant, with a style that its policy allows", async () => {
  const { html, policy } = await forClient({ tenant: tenantId });
  assert.match(html, /<title>[^<]* · Northwind<\/title>/);
  assert.ok(html.includes(`src="${looks.logoUrl?.replace("&", "&amp;")}"`));
  assert.match(html, /<footer class="bare-footer">Rua &lt;1&gt;\nLisboa<\/footer>/);
  const style = /<style>(.*?)<\/style>/s.exec(html)?.[1] ?? "";
  assert.match(style, /background:#ffdd00;border-color:#ffdd00;color:#000000/);
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style));
  assert.ok(policy.includes(`style-src 'self' 'sha256-${Buffer.from(hash).toString("base64")}'`), policy);
});

Deno.test("without a tenant, and for unknown clients and foreign return addresses, the sign-in page has the service's looks", async () => {
  const pages = [
    await signInPage(""),
    await forClient(),
    await forClient({ tenant: crypto.randomUUID() }),
    await forClient({ tenant: "x" }),
    await forClient({ tenant: tenantId, client_id: "unknown" }),
    await forClient({ tenant: tenantId, redirect_uri: "https://attacker.test/" }),
  ];
  for (const { html } of pages) {
    assert.match(html, /<title>[^<]* · Steward<\/title>/);
    assert.doesNotMatch(html, /Northwind|ffdd00|bare-footer/);
    assert.match(html, /background:#1f4fd8/);
  }
});

Deno.test("the consent page has the looks of the tenant that the user signs in to", async () => {
  for (const [links, name] of [[[tenantId], "Northwind"], [[await t.tenant()], "Steward"]] as const) {
    const { browser } = await signedInBrowser(t, { links: [...links] });
    const { html } = await browser.show(authorizeUrl(t, client));
    assert.match(html, /<button type="submit" class="button primary" name="decision" value="allowed">/);
    assert.ok(/<title>[^<]* · (\w+)<\/title>/.exec(html)?.[1] === name, html);
  }
});

inBrowser(
  "sign-in and unsubscribe pages in a tenant's looks are accessible on a phone, light and dark",
  async (browser) => {
    const context = await browser.newContext({ viewport: { width: 390, height: 844 } });
    const page = await context.newPage();
    const errors: string[] = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    const view = new Viewing(page, t.url, errors);
    const claim = { userId: crypto.randomUUID(), category: "news", tenantId };
    const token = await signUnsubscribe(t.steward.platform.sql, claim, new Date());
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
