import assert from "node:assert/strict";
import { setup } from "../../support/setup.ts";
import { TestApp } from "../auth/factors.ts";
import { PASSWORD, person } from "../auth/people.ts";
import { FormBrowser, type Shown, shown } from "./browser.ts";
import { authorizeUrl, codeOf, makeClient, redeem } from "./flow.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const client = await makeClient(t.systemAdmin);

const decoded = (text = "") => text.replaceAll("&amp;", "&").replaceAll("&quot;", '"');
const valueOf = ({ html }: Shown, name: string) =>
  decoded(new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1]);
const at = (address: string) => new URL(decoded(address), `${t.url}/console/`);

/** A signed-in browser of a user whose tenant requires a second factor, at the page that a client's request leads to. */
async function limited() {
  const who = await person(t);
  const path = `/api/v1/tenants/${who.tenantId}`;
  assert.equal((await t.systemAdmin.put(path, { requireSecondFactor: true })).status, 200);
  const browser = new FormBrowser(t.url);
  const signIn = await browser.show(authorizeUrl(t, client));
  const page = shown(await browser.signIn(signIn, who.email, PASSWORD));
  assert.equal(page.url.pathname, "/console/account/security");
  /** Sends the form with this action of a page. */
  const send = async (from: Shown, action: RegExp, fields: Record<string, string>) => {
    const found = [...from.html.matchAll(/<form[^>]* action="([^"]*)"/g)].find(([, to]) =>
      action.test(to ?? "")
    );
    const body = new URLSearchParams({ csrf: valueOf(from, "csrf"), ...fields });
    const headers = { origin: t.url, "sec-fetch-site": "same-origin" };
    const url = at(found?.[1] ?? "");
    const answer = await browser.request(url, { method: "POST", body, headers }, "same-site");
    return { url, status: answer.status, html: await answer.text(), headers: answer.headers };
  };
  return { browser, page, send };
}

Deno.test("who must add a second factor first is led back to the client afterwards", async () => {
  const { browser, page, send } = await limited();
  const started = await send(page, /^account\/security\/app/, { do: "start" });
  const given = Object.fromEntries(
    ["factorId", "secret", "otpauthUrl"].map((name) => [name, valueOf(started, name)]),
  );
  const app = new TestApp(given.secret ?? "", Date.now);
  const wrong = await send(started, /^account\/security\/app/, { ...given, do: "confirm", code: "000000x" });
  assert.equal(wrong.status, 400);
  const codes = await send(wrong, /^account\/security\/app/, { ...given, do: "confirm", code: app.code() });
  assert.equal(codes.status, 200, codes.html);
  const back = /<a class="button primary" href="([^"]*)"/.exec(codes.html)?.[1] ?? "";
  assert.match(back, /^\.\.\/oauth\/authorize\?/);
  const list = await browser.request(page.url, { method: "GET" }, "same-site");
  assert.ok((await list.text()).includes(`href="${back}"`), "the list of factors leads back too");
  const url = await browser.leave(at(back));
  assert.equal(url.searchParams.get("state"), "the-state");
  assert.equal((await redeem(t, client, codeOf(url))).status, 200);
});

Deno.test("the page about factors leads nowhere else", async () => {
  const { browser, page } = await limited();
  assert.ok(page.html.includes("account/security/passkey?to="));
  for (
    const to of ["https://evil.test/", "//evil.test", "../files", "../oauth/authorize?#x", "javascript:x"]
  ) {
    const address = `${t.url}/console/account/security?${new URLSearchParams({ to })}`;
    const { html } = await browser.show(address);
    assert.ok(!html.includes("passkey?to="), to);
  }
});
