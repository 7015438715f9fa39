import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { browse } from "./plain_browser.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole();

const tenantId = await t.tenant();
const manager = await t.actor({ tenantId, permissions: ["manage:settings"] });

/** Inserts settings of the tenant. */
async function addSettings(of: string, prefix: string, count: number): Promise<void> {
  await t.steward.platform.sql`
    insert into settings (id, tenant_id, key, value)
    select gen_random_uuid(), ${of}, ${prefix} || lpad(n::text, 6, '0'), 'value ' || n
    from generate_series(1, ${count}::int) n`;
}

/** Downloads the CSV of the page. */
async function csvOf(page: Page): Promise<{ name: string; lines: string[] }> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "CSV", exact: true }).click(),
  ]);
  const text = await Deno.readTextFile(await download.path());
  assert.ok(text.startsWith("\ufeff"), "spreadsheets need the byte order mark");
  return { name: download.suggestedFilename(), lines: text.slice(1).trimEnd().split("\r\n") };
}

inBrowser("a list is downloaded as CSV with its filters, all pages, ids and safe cells", async (b) => {
  await addSettings(tenantId, "csv.", 130);
  await manager.post("/api/v1/settings", {
    key: "csv.formula",
    value: '=HYPERLINK("x")',
    description: "a, b",
  });
  await manager.post("/api/v1/settings", { key: "other", value: "not listed" });
  const viewing = await openConsole(b, t, manager);
  const { page } = viewing;
  await viewing.open("settings?search=csv.&sortBy=key");
  await viewing.requireAccessible();
  const { name, lines } = await csvOf(page);
  assert.match(name, /^settings-\d{4}-\d\d-\d\d\.csv$/);
  assert.equal(lines[0], "id,Key,Value,Changed");
  assert.equal(lines.length, 1 + 131);
  const { id, updatedAt } = (await manager.get("/api/v1/settings?search=csv.000042")).body.items[0];
  assert.ok(lines.includes(`${id},csv.000042,value 42,${updatedAt}`), lines[42]);
  const formula = lines.find((line) => line.includes("csv.formula")) ?? "";
  assert.ok(formula.includes(`"csv.formula · a, b","'=HYPERLINK(""x"")",`), formula);
  assert.ok(!lines.some((line) => line.includes("other")));
  await viewing.close();
});

inBrowser(
  "the CSV of another tenant's list has none of its rows, and of a closed page there is none",
  async (b) => {
    const other = await t.actor({ permissions: ["manage:settings"] });
    await addSettings(other.tenantId ?? "", "theirs.", 3);
    const viewing = await openConsole(b, t, manager);
    const { page } = viewing;
    const answer = await page.request.get(`${t.url}/console/settings?as=csv&search=theirs`);
    assert.ok(!(await answer.text()).includes("theirs.0"));
    assert.equal((await page.request.get(`${t.url}/console/users?as=csv`)).status(), 403);
    await viewing.close();
  },
);

inBrowser("more than 10,000 rows become a file in the registry, and a message in the inbox", async (b) => {
  const owner = await t.actor({ permissions: ["manage:settings"] });
  await addSettings(owner.tenantId ?? "", "many.", 10_050);
  const viewing = await openConsole(b, t, owner);
  const { page } = viewing;
  await viewing.open("settings?search=many.");
  await page.getByRole("link", { name: "CSV", exact: true }).click();
  await page.getByText("more than 10,000 rows").waitFor();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Make the file" }).click();
  const link = page.getByRole("link", { name: "Download the file" });
  await link.waitFor();
  await page.getByText("10,050 of 10,050").waitFor();
  const address = page.url();
  const inbox = await until(async () =>
    (await owner.get(`/api/v1/user-notifications?userId=${owner.userId}`)).body.items[0]
  );
  assert.equal(inbox.title, "CSV of settings");
  assert.equal(inbox.actionUrl, address);
  const isScanned = async () => {
    const text = await (await page.request.get(`${address}/download`)).text();
    return text.startsWith("\ufeffid,") ? text : null;
  };
  const text = await until(isScanned);
  assert.equal(text?.trimEnd().split("\r\n").length, 10_051);
  const stranger = await openConsole(b, t, await t.actor({ tenantId: owner.tenantId ?? "", role: "Admin" }));
  assert.equal(await stranger.open(new URL(address).pathname.replace("/console/", "")), 404);
  stranger.forgive();
  await stranger.close();
  await viewing.close();
});

inBrowser(
  "filters are saved under a name, used, replaced and deleted; each user has their own",
  async (b) => {
    const viewing = await openConsole(b, t, manager);
    const { page } = viewing;
    await viewing.open("settings");
    assert.equal(await page.locator(".list-exports summary").count(), 0, "there is nothing to save");
    await page.getByLabel("Search").fill("csv.0000");
    await page.waitForURL("**/settings?search=csv.0000");
    await page.locator(".list-exports summary").click();
    await page.getByLabel("Name of these filters").fill("First <b>ten</b>");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("The filters are saved as “First <b>ten</b>”.").waitFor();
    assert.ok(page.url().endsWith("settings?search=csv.0000"));
    await viewing.open("settings");
    await page.locator(".list-exports summary", { hasText: "Saved filters (1)" }).click();
    await viewing.requireAccessible();
    await page.getByRole("link", { name: "First <b>ten</b>" }).click();
    await page.waitForURL("**/settings?search=csv.0000");
    assert.equal(await page.getByLabel("Search").inputValue(), "csv.0000");
    await page.locator(".list-exports summary", { hasText: "First" }).click();
    await page.getByText("These filters are saved.").waitFor();
    const colleague = await openConsole(b, t, await t.actor({ tenantId, permissions: ["manage:settings"] }));
    await colleague.open("settings?search=x");
    await colleague.page.locator(".list-exports summary", { hasText: "Save filter" }).waitFor();
    await colleague.close();
    await page.getByRole("button", { name: "Delete the saved filter First <b>ten</b>" }).click();
    await page.getByText("The saved filter was deleted.").waitFor();
    await viewing.close();
  },
);

inBrowser("a user saves at most 20 filters of a list, and a name is replaced", async (b) => {
  const viewing = await openConsole(b, t, manager);
  const { page } = viewing;
  await viewing.open("settings");
  const csrf = await page.locator("input[name=csrf]").first().inputValue();
  const save = async (list: string, name: string, query: string) => {
    const form = { csrf, list, name, query };
    const headers = { origin: t.url };
    return await (await page.request.post(`${t.url}/console/lists/filters`, { headers, form })).text();
  };
  // Each answer is a page. With 25 at the same time, a busy machine refuses some (503).
  await t.steward.platform.sql`insert into console_saved_filters (user_id, list, slot, name, query)
    select ${manager.userId}, 'settings', n, 'Filter ' || n, 'search=' || n from generate_series(1, 17) n`;
  await Promise.all(
    Array.from({ length: 5 }, (_, n) => save("settings", `Filter ${n + 18}`, `search=${n}`)),
  );
  const names = async () => (await t.steward.platform.sql<{ name: string; query: string }[]>`
      select name, query from console_saved_filters where user_id = ${manager.userId} and list = 'settings'`);
  assert.equal((await names()).length, 20);
  assert.match(await save("settings", "Another", "search=x"), /You have 20 saved filters/);
  const [{ name = "" } = {}] = await names();
  assert.match(await save("settings", name.toUpperCase(), "search=changed"), /The filters are saved/);
  assert.equal((await names()).length, 20);
  assert.ok((await names()).some(({ query }) => query === "search=changed"));
  for (const list of ["../oauth", "//evil.example", "https://evil.example", "a\\b", ""]) {
    assert.match(await save(list, "Elsewhere", ""), /no such list|does not exist/);
  }
  viewing.forgive();
  await viewing.close();
});

/** Jobs of a new tenant that no worker runs. */
async function waitingJobs(count: number): Promise<Actor> {
  const owner = await t.actor({ role: "Admin" });
  const jobs = Array.from({ length: count }, () => ({
    jobTypeName: "steward.echo",
    serializedArgs: "[1]",
    scheduledAt: new Date(Date.now() + 86_400_000).toISOString(),
  }));
  for (let from = 0; from < count; from += 1_000) {
    const { status } = await owner.post("/api/v1/jobs/bulk", { items: jobs.slice(from, from + 1_000) });
    assert.equal(status, 200);
  }
  return owner;
}

const countOf = async (actor: Actor, status: string): Promise<number> =>
  (await actor.get(`/api/v1/jobs?status=${status}&pageSize=1`)).body.totalCount;

inBrowser("ticked rows are counted, and only they are changed", async (b) => {
  const owner = await waitingJobs(5);
  const viewing = await openConsole(b, t, owner);
  const { page } = viewing;
  await viewing.open("jobs");
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Cancel jobs" }).click();
  await page.getByText("Nothing is selected. Tick rows first.").waitFor();
  const boxes = page.locator("[data-row-check]");
  await boxes.nth(0).check();
  await boxes.nth(2).check();
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByText("This cannot be done to any of the selected rows.").waitFor();
  await boxes.nth(0).check();
  await boxes.nth(2).check();
  await page.getByRole("button", { name: "Cancel jobs" }).click();
  await page.getByRole("heading", { name: "Cancel 2 jobs?" }).waitFor();
  await viewing.requireAccessible();
  assert.equal(await countOf(owner, "Cancelled"), 0);
  await page.getByRole("button", { name: "Cancel jobs (2)" }).click();
  await page.getByText("Cancel jobs: done for 2.").waitFor();
  assert.equal(await countOf(owner, "Cancelled"), 2);
  await viewing.close();
});

inBrowser("all rows that match are changed by a job; rows that match later are not", async (b) => {
  const owner = await waitingJobs(130);
  const viewing = await openConsole(b, t, owner);
  const { page } = viewing;
  await viewing.open("jobs?status=Scheduled");
  await page.getByLabel("All 130 that match").check();
  assert.equal(await page.locator("[data-row-check]:checked").count(), 20);
  await page.getByRole("button", { name: "Cancel jobs" }).click();
  await page.getByRole("heading", { name: "Cancel 130 jobs?" }).waitFor();
  const { items: [job] } = (await owner.get("/api/v1/jobs?status=Scheduled")).body;
  await owner.post(`/api/v1/jobs/${job.id}/cancel`);
  const later = await owner.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: "[2]",
    scheduledAt: new Date(Date.now() + 86_400_000).toISOString(),
  });
  await page.getByRole("button", { name: "Cancel jobs (130)" }).click();
  await page.getByText("Completed", { exact: true }).waitFor();
  await page.getByText("130 of 130").waitFor();
  await page.getByText("The job is already cancelled").waitFor();
  await viewing.requireAccessible();
  assert.equal(await countOf(owner, "Cancelled"), 130);
  assert.equal((await owner.get(`/api/v1/jobs/${later.body.id}`)).body.status, "Scheduled");
  const address = page.url();
  await page.goBack();
  await page.goto(address);
  const csrf = await page.locator("input[name=csrf]").first().inputValue();
  const again = await page.request.post(`${address}/start`, { headers: { origin: t.url }, form: { csrf } });
  assert.match(await again.text(), /This count is too old, or it was started before/);
  await viewing.open("lists/tasks");
  await page.getByRole("link", { name: "Cancel jobs" }).waitFor();
  await viewing.requireAccessible();
  await viewing.close();
});

inBrowser("a task ends with the session that started it, and leaves the rest as it was", async (b) => {
  const owner = await waitingJobs(120);
  const { sql } = t.steward.platform;
  const viewing = await openConsole(b, t, owner);
  const { page } = viewing;
  await viewing.open("jobs?status=Scheduled");
  await page.getByLabel("All 120 that match").check();
  await page.getByRole("button", { name: "Cancel jobs" }).click();
  await page.getByRole("heading", { name: "Cancel 120 jobs?" }).waitFor();
  const [task] = await sql<{ id: string; sessionId: string }[]>`
    select id, session_id from console_list_tasks where user_id = ${owner.userId}`;
  await sql`update console_list_tasks set session_id = gen_random_uuid() where id = ${task?.id ?? ""}`;
  await page.getByRole("button", { name: "Cancel jobs (120)" }).click();
  await page.getByText("You have signed out, or your access has changed.").waitFor();
  assert.equal(await countOf(owner, "Scheduled"), 120);
  await viewing.close();
});

inBrowser("a role is added to ticked users, and their other roles stay", async (b) => {
  const admin = await t.actor({ role: "Admin" });
  const of = admin.tenantId ?? "";
  const users = await Promise.all([1, 2].map(() => t.actor({ tenantId: of, permissions: ["read:roles"] })));
  const viewing = await openConsole(b, t, admin);
  const { page } = viewing;
  await viewing.open("users");
  for (const { email } of users) await page.getByRole("checkbox", { name: email }).check();
  await page.getByRole("button", { name: "Add a role" }).click();
  await page.getByRole("heading", { name: "2 users: add a role?" }).waitFor();
  await viewing.requireAccessible();
  await page.getByLabel("Role").selectOption("Visitor");
  await page.getByRole("button", { name: "Add a role (2)" }).click();
  await page.getByText("Add a role: done for 2.").waitFor();
  for (const { userId } of users) {
    const roles = (await admin.get(`/api/v1/users/${userId}/roles`)).body;
    assert.equal(roles.length, 2);
    assert.ok(roles.some(({ name }: { name: string }) => name === "Visitor"));
  }
  await viewing.close();
});

inBrowser("files are held with a reason, and held files are not purged", async (b) => {
  const keeper = await t.actor({
    permissions: ["read:files", "upload:files", "retain:files", "purge:files"],
  });
  const reserve = (fileName: string) =>
    keeper.post("/api/v1/files", { profile: "document", fileName, contentType: "text/plain", sizeBytes: 4 });
  const ids = (await Promise.all(["a.txt", "b.txt"].map(reserve))).map(({ body }) => body.fileId ?? body.id);
  assert.ok(ids[0]);
  const viewing = await openConsole(b, t, keeper);
  const { page } = viewing;
  await viewing.open("files");
  await page.getByRole("checkbox", { name: "a.txt" }).check();
  await page.getByRole("button", { name: "Set legal hold" }).click();
  await page.getByRole("heading", { name: "1 file: set the legal hold?" }).waitFor();
  await page.getByLabel("Reason").fill("Court order 12");
  await page.getByRole("button", { name: "Set legal hold (1)" }).click();
  await page.getByText("Set legal hold: done for 1.").waitFor();
  const held = (await keeper.get("/api/v1/files?legalHold=true")).body.items;
  assert.deepEqual(held.map(({ fileName }: { fileName: string }) => fileName), ["a.txt"]);
  await page.getByLabel("This page").check();
  await page.getByRole("button", { name: "Purge" }).click();
  await page.getByRole("heading", { name: "1 file: purge its content?" }).waitFor();
  await page.getByText("It cannot be done to 1 of the matching rows.").waitFor();
  await viewing.close();
});

Deno.test("the audit log has CSV and saved filters like every list", async () => {
  const admin = await t.actor({ role: "Admin" });
  const { body } = await admin.post("/api/v1/roles", { name: "Clerks, and = others" });
  const browser = await browse(t, admin);
  const { html } = await browser.open("audit?action=role.create");
  assert.match(html, /href="audit\?action=role.create&(?:amp;)?as=csv"/);
  assert.match(html, /class="audit"/);
  const { status, html: csv } = await browser.open("audit?action=role.create&as=csv");
  assert.equal(status, 200);
  const [head = "", ...rows] = csv.trim().split("\r\n");
  assert.match(head, /Time,Action,Change,User,Target type,Target id,Tenant,/);
  assert.equal(rows.length, 1, csv);
  assert.match(rows[0] ?? "", new RegExp(`role.create,.*${body.id}`));
  const nobody = await browser.open("audit?actor=nobody@example.test&as=csv");
  assert.equal(nobody.status, 200);
  assert.doesNotMatch(nobody.html, /role\.create/);
});
