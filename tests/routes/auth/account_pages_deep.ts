// The pages of mailed links, and those in a tenant's looks, in Chromium.
import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { accepted } from "../../support/outcomes.ts";
import { setupConsole, Viewing } from "../console/support.ts";
import { tenantWithLooks } from "../looks/hosted.ts";
import { authorizeUrl, makeClient } from "../oauth/flow.ts";
import { resetTokenFor, tokenOf } from "./mails.ts";
import { PASSWORD, person, signedIn, signIn } from "./people.ts";

const { t, inBrowser } = await setupConsole();
const newPage = async (browser: Browser) => await (await browser.newContext({ locale: "pt-PT" })).newPage();

inBrowser(
  "the page of a reset link explains refusals in its language and sets the password",
  async (browser) => {
    const newPassword = "a new and better one";
    const { email } = await person(t);
    const token = await resetTokenFor(t, email);
    const page = await newPage(browser);
    const submit = async (password: string, repeated = password) => {
      await page.getByLabel("Nova senha").fill(password);
      await page.getByLabel("Repita-a").fill(repeated);
      await page.getByRole("button").click();
    };
    await page.goto(`${t.url}/auth/reset-password`);
    await page.getByText("Este link está incompleto.").waitFor();
    assert.equal(await page.getByRole("button").count(), 0);
    await page.goto("about:blank");
    await page.goto(`${t.url}/auth/reset-password#token=${token}`);
    assert.ok(!page.url().includes(token));
    await submit(newPassword, `${newPassword}!`);
    await page.getByText("As duas senhas são diferentes.").waitFor();
    await submit("password1234");
    await page.getByText("Escolha outra senha").waitFor();
    await submit(newPassword);
    await page.getByText("Pronto.").waitFor();
    await accepted(signIn(t, email, newPassword));
    await page.goto("about:blank");
    await page.goto(`${t.url}/auth/reset-password#token=${token}`);
    await submit(newPassword);
    await page.getByText("já foi usado ou expirou").waitFor();
    await page.context().close();
  },
);

inBrowser(
  "the page of a link to a new email changes the email only when its button is used",
  async (browser) => {
    const { email, me } = await signedIn(t);
    const newEmail = `new-${email}`;
    const change = { newEmail, password: PASSWORD };
    const token = await tokenOf(t, newEmail, () => me.post("/auth/change-email", change));
    const page = await newPage(browser);
    await page.goto(`${t.url}/auth/confirm-email#token=${token}`);
    assert.match(await page.title(), /^Confirme seu novo e-mail · /);
    assert.ok(!page.url().includes(token));
    await accepted(signIn(t, email));
    await page.getByRole("button", { name: "Confirmar o e-mail" }).click();
    await page.getByText("Pronto.").waitFor();
    await accepted(signIn(t, newEmail));
    await page.goto("about:blank");
    await page.goto(`${t.url}/auth/confirm-email#token=${token}`);
    await page.getByRole("button").click();
    await page.getByText("já foi usado").waitFor();
    await page.context().close();
  },
);

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
