import assert from "node:assert/strict";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

inBrowser("a user signs in with email and password, and signs out", async (b) => {
  const page = await b.newPage();
  const { BOOTSTRAP_ADMIN_EMAIL: email, BOOTSTRAP_ADMIN_PASSWORD: password } = t.steward.platform.config;
  await page.goto(`${t.url}/console/jobs?status=Failed`);
  assert.match(page.url(), /\/console\/sign-in\?to=/);
  await page.getByLabel("Email").first().fill(email ?? "");
  await page.getByLabel("Password").fill("not the password");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByText("The email or the password is wrong").waitFor();
  await page.getByLabel("Password").fill(password ?? "");
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.waitForURL("**/console/jobs?status=Failed");
  const cookies = await page.context().cookies();
  const session = cookies.find(({ name }) => name === "steward_console");
  assert.equal(session?.httpOnly, true);
  assert.equal(session?.sameSite, "Strict");
  assert.ok(!await page.evaluate<string>("document.cookie").then((text) => text.includes("steward_console")));
  await page.locator(".topbar details.menu summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/console/sign-in");
  await page.goto(`${t.url}/console/jobs`);
  assert.match(page.url(), /sign-in/);
  await page.close();
});

inBrowser("signing out in one tab replaces the data that other tabs of the browser show", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  const viewing = await openConsole(b, t, actor);
  const other = await viewing.page.context().newPage();
  await other.goto(`${t.url}/console/account`);
  await viewing.open("jobs");
  await viewing.page.locator(".topbar details.menu summary").click();
  await viewing.page.getByRole("button", { name: "Sign out" }).click();
  await viewing.page.waitForURL("**/console/sign-in");
  await other.waitForURL("**/console/sign-in?to=account");
  viewing.forgive();
  await viewing.close();
});

Deno.test("without a session, or with an invalid cookie, a page redirects to sign-in", async () => {
  for (const cookie of ["", "steward_console=forged", "steward_console=; steward_flash=%00"]) {
    const answer = await fetch(`${t.url}/console/jobs`, { headers: { cookie }, redirect: "manual" });
    await answer.body?.cancel();
    assert.equal(answer.status, 303);
    assert.match(answer.headers.get("location") ?? "", /^\/console\/sign-in/);
  }
});

Deno.test("the sign-in page never redirects to another site", async () => {
  for (
    const to of ["//evil.test", "https://evil.test", "/\\evil.test", "javascript:alert(1)", "..//evil.test"]
  ) {
    const page = await (await fetch(`${t.url}/console/sign-in?to=${encodeURIComponent(to)}`)).text();
    assert.ok(!page.includes("evil.test") && !page.includes("alert(1)"), to);
  }
});

inBrowser("a form from another site, without a token, or of another session is refused", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  const viewing = await openConsole(b, t, actor);
  const [cookie] = await viewing.page.context().cookies();
  await viewing.close();
  const headers = { cookie: `steward_console=${cookie?.value}`, origin: t.url };
  const ask = async (form: Record<string, string>, more: Record<string, string> = {}) => {
    const answer = await fetch(`${t.url}/console/sign-out`, {
      method: "POST",
      headers: { ...headers, ...more },
      body: new URLSearchParams(form),
      redirect: "manual",
    });
    await answer.body?.cancel();
    return answer.status;
  };
  assert.equal(await ask({}), 403);
  assert.equal(await ask({ csrf: "wrong" }), 403);
  const page = await (await fetch(`${t.url}/console/account`, { headers })).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? "";
  assert.equal(await ask({ csrf }, { origin: "https://evil.test" }), 403);
  assert.equal(await ask({ csrf }, { "sec-fetch-site": "cross-site" }), 403);
  assert.equal(await ask({ csrf }), 303);
  assert.equal(await ask({ csrf }), 303, "the session has ended: to the sign-in page");
});

Deno.test("every page has a content security policy without inline scripts and styles", async () => {
  const answer = await fetch(`${t.url}/console/sign-in`);
  const policy = answer.headers.get("content-security-policy") ?? "";
  assert.match(policy, /default-src 'none'/);
  assert.ok(!policy.includes("unsafe"));
  const page = await answer.text();
  assert.ok(!/<script(?![^>]*\bsrc=)|\sstyle=|\son\w+=/.test(page));
});

inBrowser(
  "the account page changes names and passwords, shows errors, and ends sessions",
  async (b) => {
    const actor = await t.actor({ role: "Admin" });
    const other = await openConsole(b, t, actor);
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    await viewing.open("account");
    await page.getByLabel("First name").fill("<b>Zoë</b>");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Your profile was saved.").waitFor();
    assert.equal(await page.getByLabel("First name").inputValue(), "<b>Zoë</b>");
    await page.getByLabel("Current password").fill("wrong");
    await page.getByLabel("New password").fill("a good long password");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByRole("alert").waitFor();
    viewing.forgive();
    await page.getByLabel("New email").fill("zoe@new.example.test");
    await page.getByLabel(/^Password/).fill("wrong");
    await page.getByRole("button", { name: "Change email" }).click();
    await page.getByText("the account has no password").waitFor();
    assert.equal(await page.getByLabel("New email").inputValue(), "zoe@new.example.test");
    viewing.forgive();
    await viewing.requireAccessible();
    await viewing.close();
    await other.close();
  },
);

inBrowser("the chosen theme and language are kept", async (b) => {
  const viewing = await openConsole(b, t, await t.actor({ role: "Visitor" }));
  const { page } = viewing;
  await viewing.open("inbox");
  await page.locator(".topbar details.menu summary").click();
  await page.getByLabel("Language").selectOption("pt");
  await page.getByRole("heading", { name: "Caixa de entrada" }).waitFor();
  await page.locator(".topbar details.menu summary").click();
  await page.getByLabel("Aparência").selectOption("dark");
  await page.locator("html[data-theme=dark]").waitFor();
  assert.equal(await page.locator("html").getAttribute("lang"), "pt");
  await viewing.close();
});

inBrowser(
  "a new message raises the unread count without a reload, and is read in the inbox",
  async (b) => {
    const actor = await t.actor({ permissions: ["send:notifications"] });
    const viewing = await openConsole(b, t, actor, { phone: true });
    const { page } = viewing;
    await viewing.open("inbox");
    await page.locator("[data-unread]").waitFor({ state: "hidden" });
    const sent = await actor.post("/api/v1/notifications/send", {
      channel: "InApp",
      recipients: [{ address: actor.userId }],
      subject: "<i>Hello</i>",
      textBody: "line one\nline two",
    });
    assert.equal(sent.status, 200, JSON.stringify(sent.body));
    await page.locator("[data-unread]").waitFor({ state: "visible" });
    await viewing.open("inbox");
    await page.getByText("<i>Hello</i>").waitFor();
    await viewing.requireAccessible();
    await viewing.requireNoSidewaysScroll();
    await page.getByRole("button", { name: "Mark as read", exact: true }).click();
    await page.locator("[data-unread]").waitFor({ state: "hidden" });
    await viewing.close();
  },
);

inBrowser(
  "a refreshing list keeps the focus, and leads to sign-in when the session has ended",
  async (b) => {
    const actor = await t.actor({ role: "Admin" });
    for (const order of [1, 2]) {
      await actor.post("/api/v1/jobs", {
        jobTypeName: "steward.echo",
        serializedArgs: JSON.stringify({ order }),
      });
    }
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    await page.clock.install();
    await viewing.open("jobs");
    const href = await page.locator("tbody a").nth(1).getAttribute("href");
    await page.locator(`tbody a[href="${href}"]`).focus();
    // returns no value, because evaluate would wait for a promise
    await page.evaluate(`{
      globalThis.focused = new Promise((tell) => document.addEventListener("htmx:afterSwap", () =>
        queueMicrotask(() => tell(document.activeElement.getAttribute("href"))), { once: true }));
      undefined;
    }`);
    await page.clock.fastForward(5_500);
    assert.equal(
      await page.evaluate("focused"),
      href,
      "given back with the new list, not some time after it",
    );
    await page.keyboard.press("/");
    assert.equal(await page.evaluate("document.activeElement.id"), "f-searchTerm");
    await page.keyboard.type("echo");
    await page.clock.fastForward(500);
    await page.waitForURL("**/jobs?searchTerm=echo");
    await page.locator("#f-searchTerm:focus").waitFor();
    await page.context().clearCookies();
    await page.clock.fastForward(5_500);
    await page.waitForURL("**/sign-in?to=jobs**");
    await viewing.close();
  },
);

inBrowser("a refresh is dropped if the user started working in the list after the request", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  await actor.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "{}" });
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await page.clock.install();
  await viewing.open("jobs");
  const asked = Promise.withResolvers<void>();
  const mayAnswer = Promise.withResolvers<void>();
  await page.route("**/console/jobs", async (route) => {
    asked.resolve();
    await mayAnswer.promise;
    await route.continue();
  });
  await page.evaluate(`{
    globalThis.answered = new Promise((tell) => document.addEventListener("htmx:afterRequest", () => tell(1)));
    document.getElementById("jobs-list").dataset.old = "yes";
  }`);
  await page.clock.fastForward(5_500);
  await asked.promise;
  await page.evaluate('getSelection().selectAllChildren(document.querySelector("tbody td"))');
  mayAnswer.resolve();
  await page.evaluate("answered");
  assert.equal(await page.locator("#jobs-list[data-old]").count(), 1);
  await page.evaluate("getSelection().empty()");
  await page.clock.fastForward(5_500);
  await page.locator("#jobs-list[data-old]").waitFor({ state: "detached" });
  await viewing.close();
});

inBrowser("going back from a filter restores the page, and it still works", async (b) => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  await actor.post("/api/v1/notifications/send", {
    channel: "InApp",
    recipients: [{ address: actor.userId }],
    subject: "Kept",
    textBody: "text",
  });
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await viewing.open("jobs");
  await page.locator("#f-searchTerm").fill("echo");
  await page.waitForURL("**/jobs?searchTerm=echo");
  const again = page.waitForResponse("**/jobs?searchTerm=echo");
  await page.keyboard.press("Tab");
  await (await again).finished();
  const back = async () => await Promise.all([page.waitForEvent("load"), page.goBack()]);
  await back();
  assert.match(page.url(), /\/jobs$/);
  await viewing.open("inbox");
  await page.getByLabel("Show").selectOption("false");
  await page.waitForURL("**/inbox?isRead=false");
  await back();
  await page.locator("#f-isRead option:checked[value='']").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("The message was deleted.").waitFor();
  await viewing.close();
});

inBrowser("a copy button copies the full value, also over plain HTTP", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  const { body: job } = await actor.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: "{}",
  });
  for (const isPlain of [false, true]) {
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    await page.context().grantPermissions(["clipboard-write"]);
    if (isPlain) await page.addInitScript("delete Navigator.prototype.clipboard");
    await viewing.open(`jobs/${job.id}`);
    await page.locator(`[data-copy="${job.id}"]`).click();
    await page.locator(`[data-copy="${job.id}"].done`).waitFor();
    await viewing.open("jobs");
    await page.locator("#f-searchTerm").focus();
    await page.keyboard.press("Control+V");
    assert.equal(await page.locator("#f-searchTerm").inputValue(), job.id);
    await viewing.close();
  }
});

inBrowser("without JavaScript the navigation, the filters and the forms work", async (b) => {
  const actor = await t.actor({ permissions: ["manage:settings"] });
  const context = await b.newContext({ javaScriptEnabled: false, viewport: { width: 390, height: 844 } });
  const viewing = await openConsole(b, t, actor);
  await context.addCookies(await viewing.page.context().cookies());
  await viewing.close();
  const page = await context.newPage();
  await page.goto(`${t.url}/console/jobs`);
  await page.locator("#f-searchTerm").fill("echo");
  await page.getByRole("button", { name: "Filter" }).click();
  assert.match(page.url(), /searchTerm=echo/);
  await page.locator("nav.sections").getByRole("link", { name: "Settings" }).click();
  await page.getByRole("link", { name: "New setting" }).click();
  await page.getByLabel("Key").fill("plain");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("plain was created.").waitFor();
  await context.close();
});
