import assert from "node:assert/strict";
import { saveFilter } from "../../../domain/console/saved_filters.ts";
import { pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { Uploading } from "../files/uploading.ts";
import { browse, browseAt } from "./plain_browser.ts";
import { around, textOf } from "./shown_page.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

/** Inserts settings of the tenant. */
async function addSettings({ tenantId }: Actor, prefix: string, count: number): Promise<void> {
  await sql`
    insert into settings (id, tenant_id, key, value)
    select gen_random_uuid(), ${tenantId}, ${prefix} || lpad(n::text, 6, '0'), 'value ' || n
    from generate_series(1, ${count}::int) n`;
}

Deno.test("a list is downloaded as CSV with its filters, all pages, ids and safe cells", async () => {
  const manager = await t.actor({ permissions: ["manage:settings"] });
  const other = await t.actor({ permissions: ["manage:settings"] });
  await addSettings(manager, "csv.", 130);
  await addSettings(other, "csv.theirs.", 3);
  const formula = { key: "csv.formula", value: '=HYPERLINK("x")', description: "a, b" };
  await manager.post("/api/v1/settings", formula);
  await manager.post("/api/v1/settings", { key: "other", value: "not listed" });
  const browser = await browseAt(t, manager, "settings?search=csv.&sortBy=key");
  const { html, headers } = await browser.follow("CSV");
  assert.match(headers.get("content-disposition") ?? "", /settings-\d{4}-\d\d-\d\d\.csv/);
  assert.ok(html.startsWith("\ufeff"), "spreadsheets need the byte order mark");
  const lines = html.slice(1).trimEnd().split("\r\n");
  assert.deepEqual([lines[0], lines.length], ["id,Key,Description,Value,Created", 1 + 131]);
  const { id, createdAt } = (await manager.get("/api/v1/settings?search=csv.000042")).body.items[0];
  assert.ok(lines.includes(`${id},csv.000042,,value 42,${createdAt}`), lines[42]);
  const line = lines.find((line) => line.includes("csv.formula")) ?? "";
  assert.ok(line.includes(`csv.formula,"a, b","'=HYPERLINK(""x"")",`), line);
  assert.ok(!html.includes("other") && !html.includes("theirs"));
  assert.equal((await browser.open("users?as=csv")).status, 403, "the list is closed");
});

Deno.test("filters are saved under a name, used, replaced and deleted; each user has their own", async () => {
  const manager = await t.actor({ permissions: ["manage:settings"] });
  await addSettings(manager, "csv.", 12);
  const browser = await browse(t, manager);
  (await browser.visit("settings")).lacks("Save filter"); // there is nothing to save
  await browser.press("Filter", { Search: "csv.00000" });
  const saved = await browser.press("Save", { "Name of these filters": "First <b>nine</b>" });
  saved.shows("The filters are saved as “First <b>nine</b>”.");
  assert.equal(saved.address, "/console/settings?search=csv.00000");
  (await browser.visit("settings")).shows("Saved filters (1)");
  const used = await browser.follow("First <b>nine</b>");
  assert.equal(used.shows("These filters are saved.").value("Search"), "csv.00000");
  const colleague = await t.actor({ tenantId: manager.tenantId ?? "", permissions: ["manage:settings"] });
  (await browseAt(t, colleague, "settings?search=x")).page.shows("Save filter").lacks("nine");
  await browser.press("Delete the saved filter First <b>nine</b>");
  browser.page.shows("The saved filter was deleted.");
});

Deno.test("pages and saved filters are pinned to the top of the navigation, by each user", async () => {
  const manager = await t.actor({ permissions: ["manage:settings", "read:roles"] });
  const browser = await browse(t, manager);
  const entries = () => {
    const [nav] = browser.page.all("nav", ({ attribs }) => attribs.id === "sections");
    return browser.page.all("a", (link) => around(link, "nav")[0] === nav)
      .map((link) =>
        `${textOf(link)} ${link.attribs.href}${link.attribs["aria-current"] ? " (current)" : ""}`
      );
  };
  await browser.visit("roles");
  const before = entries();
  await browser.press("Pin to the top of the navigation");
  assert.deepEqual(entries().slice(0, 3), [...before.slice(0, 2), "Roles roles (current)"]);
  assert.equal(entries().length, before.length, "it is not in its section too");
  await browser.visit("settings?search=mail");
  await browser.press("Save", { "Name of these filters": "Mail: <b>ours</b>" });
  await browser.press("Pin to the top of the navigation Mail: <b>ours</b>");
  browser.page.shows("Pinned to the top");
  assert.deepEqual(entries().slice(2, 4), [
    "Roles roles",
    "Mail: <b>ours</b> settings?search=mail (current)",
  ]);
  await browser.press("Remove from the top of the navigation");
  assert.ok(!entries().some((entry) => entry.startsWith("Mail")));
  assert.ok(entries().includes("Settings settings (current)"));
  const colleague = await t.actor({ tenantId: manager.tenantId ?? "", permissions: ["read:roles"] });
  assert.doesNotMatch((await browseAt(t, colleague, "roles")).page.html, /Pinned/);
  for (const [name, value] of [["entry", "tenants"], ["entry", "//x.test"], ["filter", "7"], ["pin", "7"]]) {
    const page = await browser.force("lists/pins", { list: "settings", query: "", [`${name}`]: `${value}` });
    assert.equal(page.status, 200);
  }
  assert.deepEqual(
    [...await sql`select name from console_saved_filters where user_id = ${manager.userId} and list = '/'`],
    [{ name: "roles" }],
  );
});

Deno.test("filters are saved of lists that are open to the user: at most 20 of a list and 200 of all; a name is replaced", async () => {
  const manager = await t.actor({ permissions: ["manage:settings"] });
  const { userId } = manager;
  const browser = await browse(t, manager);
  const save = (list: string, name: string, query: string) =>
    browser.force("lists/filters", { list, name, query });
  for (const list of ["../oauth", "https://evil.example", "a\\b", ""]) {
    (await save(list, "Elsewhere", "")).shows(/no such list|does not exist/);
  }
  for (const list of ["users", "lists/count"]) await save(list, "Elsewhere", "search=x");
  await sql`insert into console_saved_filters (user_id, list, slot, name, query)
    select ${userId}, 'settings', n, 'Filter ' || n, 'search=' || n from generate_series(1, 19) n`;
  const add = (n: number) =>
    browser.submit("lists/filters", { list: "settings", name: `Filter ${n}`, query: `search=${n}` });
  await Promise.all([20, 21].map(add));
  const filters = (query = "") =>
    sql`select from console_saved_filters where user_id = ${userId} and query like ${`${query}%`}`;
  assert.equal((await filters()).count, 20);
  (await save("settings", "Another", "search=x")).shows("You have 20 saved filters");
  (await save("settings", "FILTER 7", "search=changed")).shows("The filters are saved");
  assert.deepEqual([(await filters()).count, (await filters("search=changed")).count], [20, 1]);
  await sql`insert into console_saved_filters (user_id, list, slot, name, query)
    select ${userId}, 'roles/' || n, 1, 'Mine', 'search=x' from generate_series(1, 178) n`;
  const outcomes = await Promise.all(
    ["a", "b", "c", "d"].map((list) => saveFilter(sql, { userId, list, name: "Mine", query: "search=x" })),
  );
  assert.equal(outcomes.filter(Boolean).length, 2);
});

const WAITING = { jobTypeName: "steward.echo", scheduledAt: "2099-01-01T00:00:00Z" };

/** Jobs of a new tenant that no worker runs. */
async function waitingJobs(count: number): Promise<Actor> {
  const owner = await t.actor({ role: "Admin" });
  await accepted(owner.post("/api/v1/jobs/bulk", { items: Array(count).fill(WAITING) }));
  return owner;
}

const countOf = async (actor: Actor, status: string): Promise<number> =>
  (await actor.get(`/api/v1/jobs?status=${status}&pageSize=1`)).body.totalCount;

Deno.test("ticked rows are counted, and only they are changed", async () => {
  const owner = await waitingJobs(5);
  const browser = await browseAt(t, owner, "jobs");
  (await browser.press("Cancel jobs")).shows("Nothing is selected. Tick rows first.");
  const [one = "", , three = ""] = pluck((await owner.get("/api/v1/jobs")).body.items, "id");
  const ticked = { id: [one, three] };
  (await browser.press("Retry", ticked)).shows("This cannot be done to any of the selected rows.");
  (await browser.press("Cancel jobs", ticked)).shows("Cancel 2 jobs?");
  assert.equal(await countOf(owner, "Cancelled"), 0);
  (await browser.press("Cancel jobs (2)")).shows("Cancel jobs: done for 2.");
  const { items } = (await owner.get("/api/v1/jobs?status=Cancelled")).body;
  assert.deepEqual(pluck(items, "id").sort(), ticked.id.sort());
  await browser.visit("jobs?status=Cancelled");
  (await browser.press("Retry", ticked)).shows("Retry 2 jobs?");
  (await browser.press("Retry (2)")).shows("Retry: done for 2.");
  assert.equal((await owner.get("/api/v1/jobs")).body.totalCount, 7, "each has a new job");
});

Deno.test("all rows that match are changed by a job; rows that match later are not", async () => {
  const owner = await waitingJobs(60);
  const browser = await browse(t, owner);
  await browser.begin("Jobs", "Scheduled 60");
  await browser.press("Cancel jobs", { "All 60 that match": true });
  browser.page.shows("Cancel 60 jobs?");
  const { items: [job] } = (await owner.get("/api/v1/jobs?status=Scheduled")).body;
  await owner.post(`/api/v1/jobs/${job.id}/cancel`);
  const later = await owner.post("/api/v1/jobs", WAITING);
  await browser.press("Cancel jobs (60)");
  const task = browser.page.address.slice("/console/".length);
  const ended = await browser.waitFor("Completed");
  ended.shows("60 of 60", "The job is already cancelled");
  assert.equal(await countOf(owner, "Cancelled"), 60);
  assert.equal((await owner.get(`/api/v1/jobs/${later.body.id}`)).body.status, "Scheduled");
  const { location } = await browser.submit(`${task}/start`);
  (await browser.visit(location)).shows("This count is too old, or it was started before");
  await browser.visit("lists/tasks");
  assert.ok(browser.page.offers.includes("Cancel jobs"));
});

Deno.test("a task ends with the session that started it, and leaves the rest as it was", async () => {
  const owner = await waitingJobs(55);
  const browser = await browseAt(t, owner, "jobs?status=Scheduled");
  await browser.press("Cancel jobs", { "All 55 that match": true });
  await sql`update console_list_tasks set session_id = gen_random_uuid() where user_id = ${owner.userId}`;
  await browser.press("Cancel jobs (55)");
  await browser.waitFor("You have signed out, or your access has changed.");
  assert.equal(await countOf(owner, "Scheduled"), 55);
});

Deno.test("a role is added to ticked users, and their other roles stay", async () => {
  const admin = await t.actor({ role: "Admin" });
  const tenantId = admin.tenantId ?? "";
  const users = await Promise.all([1, 2].map(() => t.actor({ tenantId, permissions: ["read:roles"] })));
  const browser = await browseAt(t, admin, "users");
  await browser.press("Add a role", { id: users.map(({ userId }) => userId) });
  browser.page.shows("2 users: add a role?");
  (await browser.press("Add a role (2)", { Role: "Visitor" })).shows("Add a role: done for 2.");
  const counts = async () => {
    const answers = await Promise.all(users.map(({ userId }) => admin.get(`/api/v1/users/${userId}/roles`)));
    return answers.map(({ body }) => [body.length, pluck(body, "name").includes("Visitor")]);
  };
  assert.deepEqual(await counts(), [[2, true], [2, true]]);
  (await browser.press("Undo")).shows("2 changes: undo them?");
  (await browser.press("Undo (2)")).shows("Undo: done for 2.");
  assert.deepEqual(await counts(), [[1, false], [1, false]]);
});

Deno.test("files are held with a reason; held files, and those without content to serve, are not purged", async () => {
  const permissions = ["read:files", "upload:files", "retain:files", "purge:files"];
  const keeper = await t.actor({ permissions });
  const file = { profile: "document", contentType: "text/plain", sizeBytes: 4 };
  await new Uploading(t).fileIn("Available", { tenantId: keeper.tenantId });
  for (const fileName of ["b.txt", "c.txt"]) await keeper.post("/api/v1/files", { ...file, fileName });
  const browser = await browseAt(t, keeper, "files");
  (await browser.press("Set legal hold", { "b.txt": true })).shows("1 file: set the legal hold?");
  await browser.press("Set legal hold (1)", { Reason: "Court order 12" });
  browser.page.shows("Set legal hold: done for 1.");
  const held = (await keeper.get("/api/v1/files?legalHold=true")).body.items;
  assert.deepEqual(pluck(held, "fileName"), ["b.txt"]);
  await browser.visit("files");
  await browser.press("Purge", { "a.txt": true, "b.txt": true, "c.txt": true });
  browser.page.shows("1 file: purge its content?", "It cannot be done to 2 of the matching rows.");
});

const managing = { permissions: ["manage:applications", "manage:settings"] };
const manager = await t.actor(managing);
const settingOf = async (key: string) => (await manager.get(`/api/v1/settings?search=${key}`)).body.items[0];

Deno.test("an application is created, a duplicate is refused, it is changed, deleted and listed among the deleted", async () => {
  const browser = await browse(t, manager);
  const make = async () => {
    await browser.visit("applications/new");
    return await browser.press("Create", { Code: "shop", Name: "<i>Loja</i>" });
  };
  (await make()).shows("<i>Loja</i> was created.");
  assert.equal((await make()).shows("APPLICATION_ALREADY_EXISTS").value("Name"), "<i>Loja</i>");
  await browser.visit("applications?search=loja&sortBy=name");
  await browser.follow("<i>Loja</i>");
  (await browser.press("Save", { Active: false })).shows("<i>Loja</i> was saved.");
  await browser.press("Filter", { Active: "false" });
  await browser.follow("<i>Loja</i>");
  (await browser.press("Delete")).shows("<i>Loja</i> was deleted.", "No applications yet");
  await browser.press("Filter", { Show: "true" });
  assert.ok(!browser.page.shows("Deleted").offers.includes("<i>Loja</i>"), "nothing is left to open");
});

Deno.test("a setting keeps its text as typed, and a concurrent change is not overwritten", async () => {
  const browser = await browseAt(t, manager, "settings/new");
  const value = "  two\n  lines ";
  (await browser.press("Create", { Key: "branding.color", Value: value })).shows(
    "branding.color was created.",
  );
  const setting = await settingOf("branding.color");
  assert.equal(setting.value, value);
  await browser.visit(`settings/${setting.id}`);
  const theirs = { key: "branding.color", value: "theirs" };
  assert.equal((await manager.put(`/api/v1/settings/${setting.id}`, theirs)).status, 200);
  const stale = await browser.press("Save", { Value: "mine" });
  assert.equal(stale.shows("PRECONDITION_FAILED").value("Value"), "mine");
});

Deno.test("a changed or deleted setting is restored once by Undo, unless it was changed meanwhile or the call was not offered", async () => {
  const setting = { key: "undo.me", value: " first\nline " };
  const { id } = await accepted(manager.post("/api/v1/settings", setting), 201);
  const browser = await browseAt(t, manager, `settings/${id}`);
  (await browser.press("Save", { Value: "second" })).shows("undo.me was saved.");
  (await browser.press("Undo")).shows("The change was undone.").lacks("Undo"); // an undone action is not undone
  assert.equal((await settingOf("undo.me")).value, " first\nline ");
  await browser.visit(`settings/${id}`);
  (await browser.press("Delete")).shows("undo.me was deleted.");
  assert.equal(await settingOf("undo.me"), undefined);
  (await browser.press("Undo")).shows("The change was undone.");
  const restored = await settingOf("undo.me");
  assert.equal(restored.value, " first\nline ");
  await browser.visit(`settings/${restored.id}`);
  await browser.press("Save", { Value: "two" });
  await accepted(manager.put(`/api/v1/settings/${restored.id}`, { key: "undo.me", value: "theirs" }));
  (await browser.press("Undo")).shows("Nothing was undone: it was changed in the meantime.");
  const input = { params: { id: restored.id } };
  const call = btoa(JSON.stringify({ operation: "deleteSetting", input, goTo: "settings" }));
  for (const undo of [call, `${call}.`, `${call}.${"A".repeat(43)}`, ""]) {
    (await browser.force("undo", { undo })).shows("Nothing was undone");
  }
  assert.equal((await settingOf("undo.me")).value, "theirs");
});

Deno.test("a page's form may contain an import file, but nothing larger", async () => {
  const browser = await browse(t, manager);
  const send = async (bytes: number) => {
    const fields = { do: "profile", firstName: "Ana", filler: "a".repeat(bytes) };
    return (await browser.submit("account", fields)).location;
  };
  assert.equal(await send(11 * 1024 * 1024), "/console/account");
  assert.equal(await send(13 * 1024 * 1024), "/console/");
});
