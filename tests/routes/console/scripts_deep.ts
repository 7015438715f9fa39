import assert from "node:assert/strict";
import type { Actor } from "../../support/setup.ts";
import { CSV, reached, STATUS } from "../reports/support.ts";
import { framed, openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();
const { sql } = t.steward.platform;

const makeJob = async (by: Actor, more: Record<string, unknown> = {}): Promise<string> =>
  (await by.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "{}", ...more })).body.id;
const message = (by: Actor, subject: string) => {
  const sent = { channel: "InApp", recipients: [{ address: by.userId }], subject, textBody: "text" };
  return by.post("/api/v1/notifications/send", sent);
};

inBrowser("signing out in one tab replaces the data that other tabs of the browser show", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  await using viewing = await openConsole(b, t, actor);
  const other = await viewing.page.context().newPage();
  await other.goto(`${t.url}/console/account`);
  await viewing.open("jobs");
  await viewing.page.locator(".topbar details.menu summary").click();
  await viewing.page.getByRole("button", { name: "Sign out" }).click();
  await viewing.page.waitForURL("**/console/sign-in");
  await other.waitForURL("**/console/sign-in?to=account");
  viewing.forgive();
});

inBrowser(
  "a refreshing list keeps the focus, and leads to sign-in when the session has ended",
  async (b) => {
    const actor = await t.actor({ role: "Admin" });
    for (let n = 0; n < 2; n++) await makeJob(actor);
    await using viewing = await openConsole(b, t, actor);
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
    assert.equal(await page.evaluate("focused"), href, "given back with the new list, not after it");
    await page.keyboard.press("/");
    assert.equal(await page.evaluate("document.activeElement.id"), "f-searchTerm");
    await page.keyboard.type("echo");
    await page.clock.fastForward(500);
    await page.waitForURL("**/jobs?searchTerm=echo");
    await page.locator("#f-searchTerm:focus").waitFor();
    await page.context().clearCookies();
    await page.clock.fastForward(5_500);
    await page.waitForURL("**/sign-in?to=jobs**");
  },
);

inBrowser("a refresh is dropped if the user started working in the list after the request", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  await makeJob(actor);
  await using viewing = await openConsole(b, t, actor);
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
    document.getElementById("list").dataset.old = "yes";
  }`);
  await page.clock.fastForward(5_500);
  await asked.promise;
  await page.evaluate('getSelection().selectAllChildren(document.querySelector("tbody td"))');
  mayAnswer.resolve();
  await page.evaluate("answered");
  assert.equal(await page.locator("#list[data-old]").count(), 1);
  await page.evaluate("getSelection().empty()");
  await page.clock.fastForward(5_500);
  await page.locator("#list[data-old]").waitFor({ state: "detached" });
});

inBrowser("going back from a filter restores the page, and it still works", async (b) => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  await message(actor, "Kept");
  await using viewing = await openConsole(b, t, actor);
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
  await page.locator("summary", { hasText: "Show" }).click();
  await page.getByLabel("Show").selectOption("false");
  await page.waitForURL("**/inbox?isRead=false");
  await back();
  await page.locator("#f-isRead option:checked[value='']").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("dialog[open] [data-confirm-yes]").click();
  await page.getByText("The message was deleted.").waitFor();
});

inBrowser("a copy button copies the full value, also over plain HTTP", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  const id = await makeJob(actor);
  for (const isPlain of [false, true]) {
    await using viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    await page.context().grantPermissions(["clipboard-write"]);
    if (isPlain) await page.addInitScript("delete Navigator.prototype.clipboard");
    await viewing.open(`jobs/${id}`);
    await page.locator(`[data-copy="${id}"]`).click();
    await page.locator(`[data-copy="${id}"].done`).waitFor();
    await viewing.open("jobs");
    await page.locator("#f-searchTerm").focus();
    await page.keyboard.press("Control+V");
    assert.equal(await page.locator("#f-searchTerm").inputValue(), id);
  }
});

inBrowser("a new message raises the unread count without a reload", async (b) => {
  const actor = await t.actor({ permissions: ["send:notifications"] });
  await using viewing = await openConsole(b, t, actor, { phone: true });
  await viewing.open("inbox");
  await viewing.page.locator("[data-unread]").waitFor({ state: "hidden" });
  assert.equal((await message(actor, "Hello")).status, 200);
  await viewing.page.locator("[data-unread]").waitFor({ state: "visible" });
});

inBrowser("the dialogs of scopes and of the search are accessible, and used by keyboard alone", async (b) => {
  const { userId } = await t.actor({ role: "Admin" });
  await sql`update users set first_name = 'Ana', last_name = 'Prado' where id = ${userId}`;
  await using viewing = await openConsole(b, t, t.systemAdmin, { theme: "dark" });
  const { page } = viewing;
  await viewing.open("jobs");
  await page.getByRole("link", { name: /^Scope: / }).click();
  await viewing.requireAccessible();
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("dialog[open]").count(), 0);
  await page.keyboard.press("Control+k");
  const input = page.getByRole("combobox", { name: "Search by name, email, id or trace id" });
  await input.waitFor();
  await page.keyboard.type("ana prado");
  const option = page.getByRole("dialog").getByRole("option", { name: "Ana Prado" });
  await option.waitFor();
  await viewing.requireAccessible();
  assert.equal(await input.getAttribute("aria-activedescendant"), await option.getAttribute("id"));
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/console/users/${userId}`);
  await viewing.open("jobs");
  await page.getByRole("link", { name: "Search", exact: true }).click();
  await page.keyboard.type(userId);
  await page.keyboard.press("Enter"); // before the results have come
  await page.waitForURL(`**/console/users/${userId}`);
});

inBrowser(
  "the navigation fits into a window of 900 pixels in both languages; in lower ones it scrolls",
  async (b) => {
    const permissions = ["admin:system", "read:files", "upload:files"];
    const everything = await t.actor({ tenantId: t.platformTenantId, permissions });
    for (const locale of ["en-GB", "pt-BR"] as const) {
      await using viewing = await openConsole(b, t, everything, { locale });
      const { page } = viewing;
      const excess = () =>
        page.evaluate<number>("(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(sections)");
      await page.setViewportSize({ width: 1440, height: 900 });
      await viewing.open("webhooks");
      assert.equal(await excess(), 0);
      await page.locator("#sections form button").click(); // pins the page, or removes its pin
      await page.locator("[data-flash]").waitFor();
      assert.equal(await excess(), 0);
      await page.setViewportSize({ width: 1440, height: 500 });
      await page.reload();
      assert.ok(await page.locator("#sections [aria-current]").isVisible());
      assert.ok(await excess() > 100, "the navigation scrolls by itself");
    }
  },
);

inBrowser("after a refused form the first input of the wrong group has the focus", async (b) => {
  await using viewing = await openConsole(b, t, await t.actor({ permissions: ["manage:webhooks"] }));
  const { page } = viewing;
  await viewing.open("webhooks/new");
  await page.locator("#f-url").fill("https://hooks.example.test/");
  await page.locator("[name=eventTypes][value='*']").uncheck();
  await page.getByRole("button", { name: "Create" }).click();
  await page.locator("fieldset:has(.error) [name=eventTypes]:focus").first().waitFor();
  viewing.forgive();
});

inBrowser(
  "a template's preview follows what is typed, keeps the last good HTML, and leads to each error",
  async (b) => {
    await using viewing = await openConsole(b, t, await t.actor({ permissions: ["send:notifications"] }));
    const { page } = viewing;
    await viewing.open("templates/new");
    await page.getByLabel("Kind").selectOption({ label: "Layout" });
    await page.locator("#f-layoutSlug").waitFor({ state: "hidden" });
    await page.getByLabel("Kind").selectOption({ label: "Template" });
    await page.getByLabel("Sample data (JSON)").fill(`{ "name": "ana" }`);
    const html = page.getByLabel("HTML body", { exact: true });
    const hostile =
      `<script>parent.document.title = "taken"</script><img src="x" onerror="parent.document.title='taken'">`;
    await html.fill(`${hostile}<p>Hello {{ name | capitalize }}</p>`);
    await framed(page, "Hello Ana");
    assert.doesNotMatch(await page.title(), /taken/);
    viewing.forgive(); // what the frame's policy blocks
    await html.fill("<p>Hello</p>\n<p>{{ name | shout }}</p>");
    const mistake = page.locator("[data-preview-failed]");
    await mistake.getByText(/line 2, column \d+: .*shout/).waitFor();
    await framed(page, "Hello Ana");
    await mistake.getByRole("link", { name: "HTML body" }).click();
    const before = "document.activeElement.value.slice(0, document.activeElement.selectionStart)";
    assert.equal(await page.evaluate<number>(`${before}.split("\\n").length`), 2);
    await page.getByText("Texts by language").click();
    const rows = page.getByRole("group", { name: "Text" });
    const count = await rows.count();
    await page.getByRole("button", { name: "Add a text" }).click();
    assert.equal(await rows.count(), count + 1);
    await viewing.requireAccessible();
  },
);

inBrowser("the next runs of a schedule follow what is chosen, in the browser's time zone", async (b) => {
  await using viewing = await openConsole(b, t, await t.actor({ role: "Admin" }));
  const { page } = viewing;
  await viewing.open("recurring"); // the script stores the time zone of the browser
  await viewing.open("recurring/new/form?jobTypeName=steward.echo");
  assert.equal(await page.getByLabel("Time zone").inputValue(), "Europe/Lisbon");
  const runs = page.locator("#next-runs");
  await runs.getByText("Every day at 08:00").waitFor();
  await page.getByLabel("Repeats").selectOption("weekly");
  await page.getByLabel("Tuesday").check();
  await runs.getByText("Every Monday and Tuesday at 08:00").waitFor();
  await page.getByLabel("Time zone").fill("Asia/Tokyo");
  await runs.getByText("08:00 in Asia/Tokyo").first().waitFor();
});

inBrowser("a job and a run of a report are followed without a reload", async (b) => {
  const actor = await t.actor({ role: "Admin" });
  await using viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await viewing.open("jobs"); // the next page opens faster
  const sleep = { jobTypeName: "steward.sleep", serializedArgs: '{"milliseconds":15000}' };
  const { body: job } = await actor.post("/api/v1/jobs", sleep);
  await viewing.open(`jobs/${job.id}`);
  await page.getByRole("progressbar").waitFor();
  await page.getByText('"slept": 15000').waitFor();
  const make = { templateId: "users", format: CSV, delivery: { method: 3, targetPath: "followed.csv" } };
  const { body: { id } } = await actor.post("/api/v1/reports/generate-async", make);
  await reached(actor, id, STATUS.Delivered);
  const setStatus = (status: number) => sql`update report_executions set status = ${status} where id = ${id}`;
  await setStatus(STATUS.Completed);
  await viewing.open(`report-runs/${id}`);
  await page.locator("#run .badge", { hasText: "Delivered" }).waitFor();
  await setStatus(STATUS.Delivered);
  await page.locator("#run .notice-title", { hasText: "Delivered" }).waitFor();
});

inBrowser(
  "choices are narrowed while typing, rows are ticked at once, and a question comes before a deletion",
  async (b) => {
    const actor = await t.actor({ role: "Admin" });
    const made = await actor.post("/api/v1/roles", { name: "Clerks", permissionIds: [] });
    await using viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    await viewing.open(`roles/${made.body.id}/edit`);
    const find = page.getByRole("searchbox", { name: "Find permissions" });
    await find.fill("delete users");
    assert.ok(await page.getByRole("checkbox", { name: "read:roles" }).isHidden());
    await find.fill("read the tenant's roles");
    assert.ok(await page.getByRole("checkbox", { name: "read:roles" }).isVisible());
    const scheduledAt = new Date(Date.now() + 3_600_000); // a job that has ended has no box
    for (let n = 0; n < 21; n++) await makeJob(actor, { scheduledAt });
    await viewing.open("jobs?pageSize=20");
    await page.getByLabel("All 21 that match").check();
    assert.equal(await page.locator("[data-row-check]:checked").count(), 20);
    await page.getByLabel("This page").uncheck();
    assert.equal(await page.locator("[data-row-check]:checked, [data-all-matching]:checked").count(), 0);
    await viewing.open(`roles/${made.body.id}`);
    await page.getByRole("button", { name: "Delete role" }).click();
    await page.locator("dialog[open] button", { hasText: "Go back" }).click();
    assert.equal((await actor.get(`/api/v1/roles/${made.body.id}`)).status, 200);
    await page.getByRole("button", { name: "Delete role" }).click();
    await page.locator("dialog[open] [data-confirm-yes]").click();
    await page.getByText("The role Clerks was deleted.").waitFor();
  },
);

inBrowser("the token of a set-up link and the code of a refusal leave the address", async (b) => {
  const admin = await t.actor({ permissions: ["manage:sign-in"] });
  const { url } = (await admin.post("/api/v1/sign-in-setup-links")).body;
  const page = await b.newPage({ locale: "en-GB" });
  await page.goto(url);
  await page.getByRole("heading", { name: "Identity providers" }).waitFor();
  assert.equal(page.url(), `${t.url}/console/set-up`);
  await page.goto(`${t.url}/console/sign-in#error=OIDC_USER_UNKNOWN_FORBIDDEN`);
  await page.getByRole("alert").getByText("OIDC_USER_UNKNOWN_FORBIDDEN").waitFor();
  assert.equal(new URL(page.url()).hash, "");
  await page.close();
});
