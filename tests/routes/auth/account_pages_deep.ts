// The pages of mailed links in Chromium.
import assert from "node:assert/strict";
import { openBrowser } from "../../support/chromium.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { resetTokenFor, tokenOf } from "./mails.ts";
import { PASSWORD, person, signedIn, signIn } from "./people.ts";

const t = await setupShared();
const browser = await openBrowser();
Deno.test.afterAll(async () => {
  await t.stop();
  await browser?.close();
});

const newPage = async () =>
  await (await (browser ?? assert.fail()).newContext({ locale: "pt-PT" })).newPage();

Deno.test({
  name: "the page of a reset link explains refusals in its language and sets the password",
  ignore: browser === null,
  async fn() {
    const newPassword = "a new and better one";
    const { email } = await person(t);
    const token = await resetTokenFor(t, email);
    const page = await newPage();
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
  },
});

Deno.test({
  name: "the page of a link to a new email changes the email only when its button is used",
  ignore: browser === null,
  async fn() {
    const { email, me } = await signedIn(t);
    const newEmail = `new-${email}`;
    const change = { newEmail, password: PASSWORD };
    const token = await tokenOf(t, newEmail, () => me.post("/auth/change-email", change));
    const page = await newPage();
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
  },
});
