// A sign-in by another program's SAML provider: each side reads the other's metadata, and the answer is signed twice.
import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import type { Browser } from "../../support/oidc.ts";
import { accepted } from "../../support/outcomes.ts";
import { hasOpenssl, makeSamlKey } from "../../support/saml.ts";
import { canRunSimpleSaml, startSimpleSaml } from "../../support/simplesaml.ts";
import { fieldsOf, SamlTest } from "./saml.ts";

const canRun = canRunSimpleSaml && hasOpenssl;
const w = canRun ? await SamlTest.start() : null;

Deno.test({
  name: "a user signs in by simplesamlphp, whose answer is signed twice",
  ignore: !canRun,
  async fn() {
    assert(w);
    const run = await Deno.makeTempDir();
    const email = `${newId()}@${w.domain}`;
    const browser = w.newBrowser();
    const service = await (await browser.visit(`${w.at}/metadata`)).text();
    await using provider = await startSimpleSaml(run, { key: await makeSamlKey(), service, email });
    const metadata = await provider.readMetadata();
    await accepted(w.admin.put(`/api/v1/sign-in-providers/${w.providerId}`, { metadata }));

    const login = await visit(browser, w.at);
    const form = { ...fieldsOf(login.html), username: "ana", password: "any" };
    const { html } = await visit(browser, login.url.replace(/\?.*/, ""), form);
    const { SAMLResponse = "" } = fieldsOf(html);
    const xml = atob(SAMLResponse);
    assert.equal(xml.split("<ds:Signature ").length - 1, 2, xml);
    const { user } = await accepted(w.finish({ browser }, xml));
    assert.deepEqual([user.email, user.firstName, user.lastName], [email, "Ana", "Souza"]);
    await Deno.remove(run, { recursive: true });
  },
});

/** Visits a page and follows its redirects. */
async function visit(browser: Browser, url: string, form?: Record<string, string>) {
  let response = await browser.visit(url, form);
  for (let to = response.headers.get("location"); to; to = response.headers.get("location")) {
    url = new URL(to, url).href;
    response = await browser.visit(url);
  }
  return { url, html: await response.text() };
}
