// A product without a backend, in one page of another origin: the example `todo.html` in Chromium, in both languages.
import assert from "node:assert/strict";
import { join } from "node:path";
import { openBrowser } from "../../support/chromium.ts";
import { pngImage } from "../../support/images.ts";
import { setup } from "../../support/setup.ts";
import { PASSWORD, person, signIn } from "../auth/people.ts";
import { Viewing } from "../console/support.ts";
import { delivered } from "../notifications/notifications.ts";
import { makeClient } from "../oauth/flow.ts";

const browser = await openBrowser();
const t = await setup({ CORS_ORIGINS: "*" });
const example = join(import.meta.dirname ?? ".", "../../../scripts/client/examples/todo.html");
const folder = await Deno.makeTempDir({ prefix: "todo-" });
const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async () => {
  const page = (await Deno.readTextFile(example)).replaceAll("https://steward.example", t.url);
  const headers = { "content-type": "text/html; charset=utf-8" };
  return new Response(page.replace("oc_todo", client.clientId), { headers });
});
const product = `http://127.0.0.1:${server.addr.port}/`;
const client = await makeClient(t.systemAdmin, {
  name: "To-do",
  kind: "public",
  redirectUris: [product],
  postLogoutRedirectUris: [product],
  scopes: ["openid", "steward.self", "steward.files"],
});
Deno.test.afterAll(async () => {
  await browser?.close();
  await server.shutdown();
  await t.stop();
  await Deno.remove(folder, { recursive: true });
});

/** The words of the pages that the test looks for. */
const WORDS = {
  "en-GB": "To-do – Some/What to do/Add/End all others/This session/Sign out/Ready",
  "pt-BR": "Tarefas – Some/O que fazer/Adicionar/Encerrar todas as outras/Esta sessão/Sair/Pronto",
} as const;

for (const locale of ["en-GB", "pt-BR"] as const) {
  const [title, what = "", add, endOthers, thisSession = "", signOut, ready = ""] = WORDS[locale].split("/");
  Deno.test({
    name:
      `${locale}: a page without a backend signs in, hears of messages, shows a picture and ends other sessions`,
    ignore: browser === null,
    async fn() {
      const who = await person(t);
      const others = await Promise.all([signIn(t, who.email), signIn(t, who.email)]);
      const context = await browser?.newContext({ locale }) ?? assert.fail();
      const page = await context.newPage();
      const grants: unknown[] = [];
      page.on("request", (request) => {
        if (request.url().endsWith("/oauth/token")) grants.push(request.postDataJSON().grant_type);
      });
      await page.goto(product);
      await page.locator("#f-email").fill(who.email);
      await page.locator("input[name=password]").fill(PASSWORD);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: title }).waitFor();
      await page.getByLabel(what).fill("Buy milk");
      await page.getByRole("button", { name: add, exact: true }).click();
      await page.getByRole("button", { name: "Buy milk" }).waitFor();

      const sender = await t.actor({ tenantId: who.tenantId, permissions: ["send:notifications"] });
      const inbox = page.locator("steward-inbox");
      await inbox.locator("[part=note]").last().waitFor(); // it is empty
      const recipients = [{ address: who.id }];
      await delivered(t, sender, { channel: "InApp", recipients, subject: "Milk is out", textBody: "Text" });
      await inbox.getByRole("heading", { name: "Milk is out" }).waitFor();

      for (const [name, side] of [["first.png", 300], ["second.png", 400]] as const) {
        const path = join(folder, name);
        await Deno.writeFile(path, pngImage(side, side));
        await page.evaluate("{ const now = Date.now; Date.now = () => now() + 3_600_000; }"); // the token is refreshed
        const before = await page.locator("img").getAttribute("src");
        await page.locator("steward-upload input").setInputFiles(path);
        await page.locator("steward-upload").getByText(ready, { exact: true }).first().waitFor();
        await page.locator(`img:not([src="${before}"]):not([hidden])`).waitFor();
        await page.waitForFunction("document.querySelector('img').naturalWidth === 256");
      }
      const held = await t.steward.platform.sql<{ fileName: string; referenceCount: number }[]>`
        select file_name, reference_count from files where created_by = ${who.id} order by file_name`;
      assert.deepEqual(held.map(({ fileName, referenceCount }) => [fileName, referenceCount]), [
        ["first.png", 0],
        ["second.png", 1],
      ]);

      const viewing = new Viewing(page, t.url, []);
      await viewing.requireAccessible();
      const sessions = page.locator("steward-sessions");
      await sessions.getByRole("button", { name: endOthers }).click();
      await sessions.locator("li").nth(1).waitFor({ state: "detached" });
      await sessions.locator("li").getByText(thisSession).waitFor();
      for (const { body } of others) {
        const headers = { authorization: `Bearer ${body.accessToken}` };
        assert.equal((await t.nobody.get("/api/v1/auth/me", headers)).status, 401);
      }
      assert.ok(
        grants.filter((grant) => grant === "refresh_token").length >= 2,
        "the page refreshed its token",
      );
      await page.reload(); // signs in without a question, because the browser's session has not ended
      await page.getByRole("button", { name: "Buy milk" }).waitFor();
      await page.waitForFunction("document.querySelector('img').naturalWidth === 256");
      await page.getByRole("button", { name: signOut, exact: true }).click();
      await page.locator("input[name=password]").waitFor();
      await page.goto(product);
      await page.locator("input[name=password]").waitFor();
      await context.close();
    },
  });
}
