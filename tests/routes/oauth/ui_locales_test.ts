import assert from "node:assert/strict";
import { setupShared } from "../../support/setup.ts";
import { PASSWORD, person } from "../auth/people.ts";
import { FormBrowser, left, type Shown, shown } from "./browser.ts";
import { authorizeUrl, codeOf, makeClient, signedInBrowser } from "./flow.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const RETURN = "https://app.test/bye";
const client = await makeClient(t.systemAdmin, { firstParty: false, postLogoutRedirectUris: [RETURN] });

const languageOf = ({ html }: Shown): string | undefined => /<html[^>]* lang="([^"]+)"/.exec(html)?.[1];

Deno.test("every supported language of the metadata is spoken, from the sign-in to the sign-out", async () => {
  const { body } = await t.nobody.get("/.well-known/openid-configuration");
  assert.deepEqual(body.ui_locales_supported, ["en", "pt"]);
  const texts: Record<string, RegExp[]> = {
    en: [/Sign in/, /Allow Orders\?/, /Sign out\?/, /You are signed out/],
    pt: [/Entrar/, /Permitir Orders\?/, /Sair\?/, /Sua sessão terminou/],
  };
  for (const [locale, [signIn, allow, leaving, gone]] of Object.entries(texts)) {
    const who = await person(t);
    const browser = new FormBrowser(t.url);
    const page = await browser.show(authorizeUrl(t, client, { ui_locales: locale }));
    assert.deepEqual([page.url.pathname, languageOf(page)], ["/console/sign-in", locale]);
    assert.match(page.html, signIn!);
    const wrong = shown(await browser.signIn(page, who.email, "wrong"));
    assert.deepEqual([wrong.status, languageOf(wrong)], [401, locale]);
    const asked = shown(await browser.signIn(wrong, who.email, PASSWORD));
    assert.equal(languageOf(asked), locale);
    assert.match(asked.html, allow!);
    assert.ok(codeOf(left(await browser.submit(asked, "allowed"))));
    const signOut = await browser.show(`${t.url}/oauth/logout?ui_locales=${locale}`);
    assert.equal(languageOf(signOut), locale);
    assert.match(signOut.html, leaving!);
    const ended = shown(await browser.submit(signOut, "leave"));
    assert.equal(languageOf(ended), locale);
    assert.match(ended.html, gone!);
  }
});

Deno.test("the first supported language wins, without its region, before that of the browser", async () => {
  const { browser } = await signedInBrowser(t);
  const spoken = async (uiLocales: string | null, accepted = "pt") => {
    const url = authorizeUrl(t, client, { ui_locales: uiLocales });
    const init = { method: "GET", headers: { "accept-language": accepted } };
    const answer = await browser.request(url, init, "cross-site");
    return /<html[^>]* lang="([^"]+)"/.exec(await answer.text())?.[1];
  };
  assert.equal(await spoken("en"), "en");
  assert.equal(await spoken("pt-BR en", "en"), "pt");
  assert.equal(await spoken("de-CH PT-pt en", "en"), "pt");
  assert.equal(await spoken("enm zh-Hant pt", "en"), "pt", "Middle English is no English");
  assert.equal(await spoken("de fr"), "pt", "none is supported");
  assert.equal(await spoken(null), "pt");
});

Deno.test("a language that the person chose wins on the sign-in page", async () => {
  const to = `../oauth/authorize?${authorizeUrl(t, client, { ui_locales: "en" }).searchParams}`;
  const url = `${t.url}/console/sign-in?${new URLSearchParams({ to })}`;
  const shownIn = async (headers: Record<string, string>) =>
    /<html[^>]* lang="([^"]+)"/.exec(await (await fetch(url, { headers })).text())?.[1];
  assert.equal(await shownIn({ "accept-language": "pt" }), "en");
  assert.equal(await shownIn({ cookie: "steward_locale=pt" }), "pt");
});

Deno.test("a page of an error is in the language of the request, also of one by form", async () => {
  const { status, body } = await t.nobody.get("/oauth/authorize?ui_locales=pt&client_id=oc_none");
  assert.equal(status, 400);
  assert.match(String(body), /Não foi possível entrar/);
  const form = new URLSearchParams({ ui_locales: "pt", post_logout_redirect_uri: RETURN });
  const sent = await fetch(`${t.url}/oauth/logout`, { method: "POST", body: form });
  assert.equal(sent.status, 400);
  assert.match(await sent.text(), /Não foi possível entrar/);
});
