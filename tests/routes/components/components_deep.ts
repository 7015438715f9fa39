// The web components in Chromium: the examples of a plain page, React, Vue, and a product without a backend, against a service
// of another origin.
import assert from "node:assert/strict";
import { join } from "node:path";
import type { BrowserContextOptions, Page } from "playwright-core";
import { openBrowser } from "../../support/chromium.ts";
import { eicar, noise } from "../../support/content.ts";
import { pngImage } from "../../support/images.ts";
import { zip } from "../../support/samples.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { PASSWORD, person, signIn } from "../auth/people.ts";
import { Viewing } from "../console/support.ts";
import { delivered } from "../notifications/notifications.ts";
import { makeClient, signedInBrowser, signInToClient } from "../oauth/flow.ts";

const here = (...path: string[]) => join(import.meta.dirname ?? ".", ...path);
const browser = await openBrowser();
const t = await setup({ CORS_ORIGINS: "*" });
const folder = await Deno.makeTempDir({ prefix: "components-" });
/** The callers whose tokens the page's backend gives, one after another; the last one again and again. */
let callers: { token: string | null }[] = [];

const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async ({ url }) => {
  const { pathname, search } = new URL(url);
  if (pathname === "/token") return new Response((callers.length > 1 ? callers.shift() : callers[0])?.token);
  const example = await Deno.readTextFile(here("../../../scripts/client/examples", pathname));
  const page = example.replaceAll("https://steward.example", t.url).replace("oc_todo", todo.clientId)
    .replace('profile="document"', `profile="${search.slice(1) || "document"}"`);
  return new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } });
});
Deno.test.afterAll(async () => {
  await browser?.close();
  await server.shutdown();
  await t.stop();
  await Deno.remove(folder, { recursive: true });
});

const product = `http://127.0.0.1:${server.addr.port}/todo.html`;
const todo = await makeClient(t.systemAdmin, {
  name: "To-do",
  kind: "public",
  redirectUris: [product],
  postLogoutRedirectUris: [product],
  scopes: ["openid", "steward.self", "steward.files"],
});

const inBrowser = (name: string, fn: () => Promise<void>) =>
  Deno.test({ name, ignore: browser === null, fn });

async function open(caller: { token: string | null }, looks: BrowserContextOptions = {}, profile = "") {
  callers = [caller];
  const page = await (await browser?.newContext(looks) ?? assert.fail()).newPage();
  await page.goto(`http://127.0.0.1:${server.addr.port}/plain.html?${profile}`);
  return page;
}

const tenantId = await t.tenant();
const sender = await t.actor({ tenantId, permissions: ["send:notifications"] });
const reader = () => t.actor({ tenantId, permissions: ["upload:files"] });
const notify = ({ userId }: Actor, message: Record<string, unknown>) =>
  delivered(t, sender, { channel: "InApp", recipients: [{ address: userId }], textBody: "Text", ...message });
const leave = (page: Page) => page.context().close();

inBrowser("the inbox shows what arrives, safely, and marks it as read by keyboard", async () => {
  const ann = await reader();
  await notify(ann, { subject: "<b>Invoice</b>", actionUrl: "https://app.test/invoices/1" });
  await t.steward.platform.sql`
    update user_notifications set action_url = 'javascript:alert(1)' where user_id = ${ann.userId}`;
  await notify(ann, { subject: "Report", actionUrl: "/reports/1" });
  const page = await open(ann);
  const inbox = page.locator("steward-inbox");
  await inbox.getByText("2 unread").waitFor();
  await inbox.getByRole("heading", { name: "<b>Invoice</b>" }).waitFor();
  const links = await inbox.getByRole("link").evaluateAll((all) =>
    all.map((link) => link.getAttribute("href"))
  );
  assert.deepEqual(links, [`http://127.0.0.1:${server.addr.port}/reports/1`]);
  await notify(ann, { subject: "Live" });
  await inbox.getByRole("heading", { name: "Live" }).waitFor();
  await inbox.getByText("3 unread").waitFor();
  await inbox.getByRole("button", { name: "Mark as read: Report" }).focus();
  await page.keyboard.press("Enter");
  await inbox.getByText("2 unread").waitFor();
  assert.equal(await page.evaluate("document.activeElement.localName"), "steward-inbox", "focus stays");
  await inbox.getByRole("button", { name: "Mark all as read" }).click();
  await inbox.getByText("unread").first().waitFor({ state: "detached" });
  assert.equal((await ann.get(`/api/v1/user-notifications/unread-count?userId=${ann.userId}`)).body, 0);
  await leave(page);
});

inBrowser("after a refused token the page is asked for another, and an ended session is told", async () => {
  const ann = await reader();
  await notify(ann, { subject: "Hello" });
  const page = await open(ann);
  callers = [{ token: "refused" }, ann];
  const inbox = page.locator("steward-inbox");
  await page.evaluate("document.querySelector('steward-inbox').refresh()");
  await inbox.getByRole("heading", { name: "Hello" }).waitFor();
  await ann.post("/api/v1/auth/logout");
  await inbox.getByRole("button", { name: "Mark as read: Hello" }).click();
  await inbox.getByRole("alert").getByText("Your session has ended").waitFor();
  await leave(page);
});

inBrowser("preferences are saved at once, and sessions can be ended", async () => {
  const ann = await reader();
  const other = await t.signedIn(ann);
  const page = await open(ann, { locale: "pt-BR" });
  await page.evaluate("document.documentElement.lang = 'pt-BR'");
  const preferences = page.locator("steward-preferences");
  await preferences.getByRole("checkbox", { name: "News E-mail" }).uncheck();
  await preferences.getByText("Salvo.").waitFor({ state: "attached" });
  const { body } = await ann.get(`/api/v1/user-notifications/preferences?userId=${ann.userId}`);
  assert.deepEqual(body.categories[0].channels, { email: false, push: true, inApp: true, sms: true });
  const sessions = page.locator("steward-sessions");
  await sessions.getByRole("button", { name: "Encerrar:" }).click();
  await sessions.getByText("A sessão foi encerrada.").waitFor({ state: "attached" });
  assert.equal((await other.get("/api/v1/auth/me")).status, 401);
  await leave(page);
});

inBrowser("without a session of its own in the list, a page does not offer to end all others", async () => {
  const scopes = ["openid", "steward.self", "offline_access"];
  const client = await makeClient(t.systemAdmin, { scopes });
  const { browser: other, who } = await signedInBrowser(t);
  const { access_token: token } = await signInToClient(t, other, client, { scope: scopes.join(" ") });
  await t.steward.platform
    .sql`update sessions set revoked_at = now() where user_id = ${who.id} and client_id is null`;
  await signIn(t, who.email);
  await signIn(t, who.email);
  const page = await open({ token });
  const sessions = page.locator("steward-sessions");
  await sessions.getByRole("button", { name: "End:" }).nth(1).waitFor();
  assert.equal(await sessions.getByRole("button", { name: "End all others" }).count(), 0);
  await leave(page);
});

inBrowser("an upload is paused, goes on after a reload, and shows the end of the scan", async () => {
  const page = await open(await reader(), {}, "archive");
  const path = join(folder, "report.zip");
  await Deno.writeFile(path, zip([["noise.bin", noise(20 * 1024 * 1024)]]));
  const sent: string[] = [];
  let isHeld = true;
  await page.context().route(/partNumber=/, async (route) => {
    const part = new URL(route.request().url()).searchParams.get("partNumber") ?? "";
    if (route.request().method() === "PUT" && part !== "1" && isHeld) return; // never answered
    if (route.request().method() === "PUT") sent.push(part);
    await route.continue();
  });
  const upload = page.locator("steward-upload");
  // A part that is paused before the store has answered is sent again.
  const firstPart = page.waitForResponse((answer) =>
    answer.request().method() === "PUT" && /partNumber=1(&|$)/.test(answer.url())
  );
  await upload.locator("input").setInputFiles(path);
  await firstPart;
  await upload.getByText(/\(\d\d%\)/).waitFor();
  await upload.getByRole("button", { name: "Pause: report.zip" }).click();
  await upload.getByText("Paused", { exact: true }).waitFor();
  await page.reload();
  await upload.getByText("Interrupted.").waitFor();
  isHeld = false;
  const uploaded = page.evaluate<string>(
    "new Promise((done) => addEventListener('steward-uploaded', ({ detail }) => done(detail.fileId)))",
  );
  await upload.locator("input").setInputFiles(path);
  await upload.getByText("Ready", { exact: true }).waitFor();
  assert.deepEqual(sent, ["1", "2"], "each part is sent once");
  const [row] = await t.steward.platform.sql<{ status: string }[]>`
    select status from files where id = ${await uploaded}`;
  assert.equal(row?.status, "Available");
  await leave(page);
});

inBrowser("a dropped file with a virus is refused", async () => {
  const page = await open(await reader());
  const upload = page.locator("steward-upload");
  await upload.getByText("Choose files").waitFor();
  await page.evaluate(`{
    const dataTransfer = new DataTransfer();
    const content = new Uint8Array(${JSON.stringify([...eicar()])});
    dataTransfer.items.add(new File([content], "eicar.txt", { type: "text/plain" }));
    const zone = document.querySelector("steward-upload").shadowRoot.querySelector("label");
    zone.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
  }`);
  await upload.getByText("A virus was found. The file was deleted.", { exact: true }).waitFor();
  await leave(page);
});

inBrowser("a refusal is told in the language of the page, whatever its code", async () => {
  const page = await open(await t.actor({ global: true, permissions: ["upload:files"] }), {
    locale: "pt-BR",
  });
  await page.evaluate("document.documentElement.lang = 'pt-BR'");
  const path = join(folder, "a.txt");
  await Deno.writeTextFile(path, "text");
  await page.locator("steward-upload input").setInputFiles(path);
  await page.locator("steward-upload").getByText("Você não tem a permissão necessária.", { exact: true })
    .waitFor();
  await leave(page);
});

inBrowser(
  "the components are accessible in both languages, light and dark, and 360 pixels wide",
  async () => {
    const ann = await reader();
    await t.signedIn(ann);
    await t.signedIn(ann);
    await notify(ann, { subject: "A notification with a long title that needs two lines", actionUrl: "/x" });
    for (const [theme, lang] of [["light", "en"], ["dark", "pt-BR"]] as const) {
      const looks = { colorScheme: theme, viewport: { width: 360, height: 800 } };
      const page = await open(ann, looks);
      await page.evaluate(`document.documentElement.lang = "${lang}"`);
      await page.locator("steward-inbox h3").waitFor();
      await page.locator("steward-sessions li").first().waitFor();
      await page.locator("steward-preferences table").waitFor();
      const viewing = new Viewing(page, t.url, []);
      await viewing.requireAccessible();
      await viewing.requireNoSidewaysScroll();
      await leave(page);
    }
  },
);

/** The packages of a framework in one script, as a server of packages gives them. Its packages are not those of the service. */
async function bundle(name: string): Promise<string> {
  const config = here("frameworks/deno.json");
  const args = ["bundle", "--quiet", "--minify", "--platform=browser", "--frozen", "--config", config];
  const command = new Deno.Command(Deno.execPath(), { args: [...args, here("frameworks", `${name}.mjs`)] });
  const { success, stdout, stderr } = await command.output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

for (const name of ["react", "vue"]) {
  inBrowser(`the example of ${name} shows the inbox, and hears of what arrives`, async () => {
    const ann = await reader();
    await notify(ann, { subject: "First" });
    const script = await bundle(name);
    const context = await browser?.newContext() ?? assert.fail();
    await context.route(/^https:\/\/(esm\.sh|unpkg\.com)\//, (route) => {
      const isSecond = route.request().url().includes("react-dom"); // shares the one React with the first
      const body = isSecond ? `export { createRoot } from "https://esm.sh/react@19";` : script;
      return route.fulfill({
        body,
        contentType: "text/javascript",
        headers: { "access-control-allow-origin": "*" },
      });
    });
    callers = [ann];
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${server.addr.port}/${name}.html`);
    await page.getByRole("heading", { name: "My account (1)" }).waitFor();
    await notify(ann, { subject: "Second" });
    await page.getByRole("heading", { name: "My account (2)" }).waitFor();
    await page.locator("steward-inbox").getByRole("heading", { name: "First" }).waitFor();
    await context.close();
  });
}

/** The words of the pages that the test looks for. */
const WORDS = {
  "en-GB": "To-do – Some/What to do/Add/End all others/This session/Sign out/Ready",
  "pt-BR": "Tarefas – Some/O que fazer/Adicionar/Encerrar todas as outras/Esta sessão/Sair/Pronto",
} as const;

for (const locale of ["en-GB", "pt-BR"] as const) {
  const [title, what = "", add, endOthers, thisSession = "", signOut, ready = ""] = WORDS[locale].split("/");
  inBrowser(
    `${locale}: a page without a backend signs in, hears of messages, shows a picture and ends other sessions`,
    async () => {
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

      const colleague = await t.actor({ tenantId: who.tenantId, permissions: ["send:notifications"] });
      const inbox = page.locator("steward-inbox");
      await inbox.locator("[part=note]").last().waitFor(); // it is empty
      const recipients = [{ address: who.id }];
      await delivered(t, colleague, {
        channel: "InApp",
        recipients,
        subject: "Milk is out",
        textBody: "Text",
      });
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
  );
}
