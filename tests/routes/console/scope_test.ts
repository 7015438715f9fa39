import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import type { Actor } from "../../support/setup.ts";
import { browse, hiddenOf } from "./plain_browser.ts";
import { openConsole, setupConsole, type Viewing } from "./support.ts";

const { t, inBrowser } = await setupConsole();
const { sql } = t.steward.platform;

/** Adds an actor to a tenant with a catalog role of it, and signs in again. */
async function alsoIn(actor: Actor, tenantId: string, role: string): Promise<Actor> {
  await sql`insert into user_tenants (user_id, tenant_id) values (${actor.userId}, ${tenantId})`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${actor.userId}, ${tenantId}, id from roles where tenant_id = ${tenantId} and name = ${role}`;
  return await t.signedIn(actor);
}

const chip = ({ page }: Viewing) => page.locator("#page-scope");
const switcher = ({ page }: Viewing) => page.getByRole("link", { name: /^Scope: / });
const field = ({ page }: Viewing) => page.getByRole("combobox", { name: "Search tenants by name or id" });

/** Chooses the first tenant that matches, by keyboard. */
async function switchTo(viewing: Viewing, search: string, name: string): Promise<void> {
  await switcher(viewing).click();
  await field(viewing).fill(search);
  await viewing.page.getByRole("dialog").getByRole("option", { name }).first().waitFor();
  await viewing.page.keyboard.press("Enter");
}

async function pageOf(actor: Actor, address: string, o: RequestInit = {}) {
  const secret = await openBrowserSession(t.steward.platform, actor.token ?? "");
  const headers = { cookie: `steward_console=${secret}`, ...o.headers };
  const answer = await fetch(`${t.url}/console/${address}`, { redirect: "manual", ...o, headers });
  return { status: answer.status, location: answer.headers.get("location"), html: await answer.text() };
}

inBrowser(
  "switching the tenant keeps the page and its filters, and the page says whose data it shows",
  async (b) => {
    const north = await t.tenant({ name: "Northwind" });
    const south = await t.tenant({ name: "Südwind <b>& Co" });
    const actor = await alsoIn(await t.actor({ tenantId: north, role: "Admin" }), south, "Admin");
    const viewing = await openConsole(b, t, actor);
    const { page } = viewing;
    await viewing.open("jobs?status=Failed&page=3");
    await chip(viewing).getByText("Northwind").waitFor();
    await switchTo(viewing, "sudwind", "Südwind");
    await page.waitForURL("**/console/jobs?status=Failed");
    await chip(viewing).getByText("Südwind <b>& Co").waitFor();
    await page.getByText("You see Südwind <b>& Co now.").waitFor();
    await switcher(viewing).click();
    await page.getByRole("dialog").getByRole("option", { name: "Northwind" }).waitFor();
    await viewing.requireAccessible();
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("dialog[open]").count(), 0);
    await viewing.close();
  },
);

inBrowser("after a switch, a page that does not exist there leads to its list and says why", async (b) => {
  const north = await t.tenant({ name: "Eastwind" });
  const south = await t.tenant({ name: "Westwind" });
  const actor = await alsoIn(await t.actor({ tenantId: north, role: "Admin" }), south, "Visitor");
  const job = await actor.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "1" });
  const viewing = await openConsole(b, t, actor);
  const { page } = viewing;
  await viewing.open(`jobs/${job.body.id}`);
  await switchTo(viewing, "west", "Westwind");
  await page.waitForURL("**/console/jobs");
  await page.getByText("That page does not exist in Westwind, so here is the list.").waitFor();
  await switchTo(viewing, "east", "Eastwind");
  await chip(viewing).getByText("Eastwind").waitFor();
  await viewing.open("users/new");
  await switchTo(viewing, "west", "Westwind"); // a visitor there may not create users
  await page.waitForURL("**/console/users");
  await viewing.open(`jobs/${job.body.id}`);
  viewing.forgive();
  await page.getByText("It exists in Eastwind.").waitFor();
  await viewing.requireAccessible();
  await page.getByRole("button", { name: "Switch to Eastwind" }).click();
  await page.waitForURL(`**/console/jobs/${job.body.id}`);
  await page.getByRole("heading", { name: "steward.echo" }).first().waitFor();
  await viewing.close();
});

inBrowser(
  "an administrator finds one of ten thousand tenants and works in it, on the same page",
  async (b) => {
    await sql`insert into tenants (id, name, type) select gen_random_uuid(), 'Branch ' || n, 'Standard'
    from generate_series(1, 10000) n`;
    const [branch] = await sql`select id from tenants where name = 'Branch 7341'`;
    await sql`insert into roles (id, tenant_id, name, is_system) values (gen_random_uuid(), ${branch?.id}, 'Admin', true)`;
    const admin = await t.actor({ role: "SystemAdmin" });
    const viewing = await openConsole(b, t, admin);
    const { page } = viewing;
    await viewing.open("jobs");
    await chip(viewing).getByText("Whole service").waitFor();
    await switcher(viewing).click();
    await page.getByRole("dialog").getByRole("option", { name: "Platform" }).waitFor();
    await page.getByText(/^Mais|more match/).waitFor();
    await field(viewing).fill("branch 7341");
    await page.getByRole("dialog").getByRole("option", { name: "Branch 7341" }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Work in this tenant: Branch 7341" }).waitFor();
    await viewing.requireAccessible();
    await page.getByLabel("Admin").check();
    await page.getByRole("button", { name: "Work in this tenant" }).click();
    await page.waitForURL("**/console/jobs");
    await chip(viewing).getByText("Branch 7341").waitFor();
    await switchTo(viewing, "whole", "Whole service");
    await chip(viewing).getByText("Whole service").waitFor();
    await viewing.open("notifications");
    await chip(viewing).getByText("Service only").waitFor();
    await viewing.open(`jobs?tenantId=${branch?.id}`);
    await chip(viewing).getByText("Branch 7341").waitFor();
    await viewing.close();
  },
);

Deno.test("without JavaScript the scope is a page with a search form", async () => {
  const actor = await alsoIn(
    await t.actor({ tenantId: await t.tenant({ name: "First House" }), role: "Admin" }),
    await t.tenant({ name: "Second House" }),
    "Admin",
  );
  const { html } = await pageOf(actor, "scope?q=second&back=jobs");
  assert.match(html, /<form method="post" action="tenant"/);
  assert.match(html, /Second House/);
  assert.ok(!/<button[^>]*name="tenantId"[^>]*>(?:(?!<\/button>).)*First House/s.test(html));
});

Deno.test("a viewer is offered only their own tenants, and may switch to no other", async () => {
  const own = await t.tenant({ name: "Own House" });
  const foreign = await t.tenant({ name: "Foreign House" });
  const actor = await t.actor({ tenantId: own, role: "Admin" });
  for (const q of ["House", foreign, "%", "\\", "x".repeat(5_000), "\u0000\ud800"]) {
    const { status, html } = await pageOf(actor, `scope?q=${encodeURIComponent(q.toWellFormed())}`);
    assert.equal(status, 200, q.slice(0, 20));
    assert.ok(!html.includes("Foreign House"));
  }
  for (
    const back of [
      "//evil.test",
      "https://evil.test",
      "javascript:alert%281%29",
      "https:evil.test",
      "\\\\evil",
    ]
  ) {
    const { html } = await pageOf(t.systemAdmin, `work-in/${foreign}?back=${encodeURIComponent(back)}`);
    assert.doesNotMatch(html, /(href|action)="(\/\/|\\|https?:|javascript:)/, back);
  }
  const secret = await openBrowserSession(t.steward.platform, actor.token ?? "");
  const headers = { cookie: `steward_console=${secret}` };
  const page = await (await fetch(`${t.url}/console/account`, { headers })).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? "";
  for (const tenantId of [foreign, "", "' or 1=1"]) {
    const answer = await fetch(`${t.url}/console/tenant`, {
      method: "POST",
      redirect: "manual",
      headers: { ...headers, "sec-fetch-site": "same-origin" },
      body: new URLSearchParams({ csrf, tenantId, back: "//evil.test/" }),
    });
    assert.equal(answer.status, 303);
    assert.equal(new URL(answer.headers.get("location") ?? "", t.url).pathname, "/console/");
    await answer.body?.cancel();
  }
});

Deno.test("an address of a page with something else than an id is not found, and leads on", async () => {
  const admin = t.systemAdmin;
  const kinds = [
    "jobs",
    "users",
    "notifications",
    "files",
    "report-runs",
    "dead-letters",
    "roles",
    "permissions",
    "tenants",
    "report-schedules",
    "templates",
    "document-templates",
    "report-targets",
    "webhooks",
    "oauth-clients",
    "applications",
    "settings",
    "reports",
    "recurring",
    "work-in",
    "user-imports",
  ];
  const files = await t.actor({ tenantId: t.platformTenantId, permissions: ["admin:system", "read:files"] });
  for (const kind of kinds) {
    const { status, html } = await pageOf(kind === "files" ? files : admin, `${kind}/no-id-at-all`);
    assert.equal(status, 404, kind);
    assert.match(html, /Go to the overview/, kind);
    assert.match(html, /There is no such page in Platform/, kind);
  }
});

Deno.test("a page without access says which permission in which tenant is missing, and leads on", async () => {
  const tenantId = await t.tenant({ name: "Quiet House" });
  const actor = await t.actor({ tenantId, permissions: [] });
  const { status, html } = await pageOf(actor, "users");
  assert.equal(status, 403);
  assert.match(html, /You need read:users or manage:all-users in Quiet House\./);
  assert.match(html, /Ask an administrator of Quiet House/);
  assert.match(html, /Go to the overview/);
});

Deno.test("a thing of a tenant in which the viewer has no place is nowhere", async () => {
  const other = await t.actor({ role: "Admin" });
  const job = await other.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "1" });
  const actor = await t.actor({ role: "Admin" });
  const { status, html } = await pageOf(actor, `jobs/${job.body.id}`);
  assert.equal(status, 404);
  assert.ok(!html.includes("It exists in"));
});

inBrowser("each card of the overview says whose figures it shows, and a job whose it is", async (b) => {
  const tenantId = await t.tenant({ name: "Card House" });
  const member = await t.actor({ tenantId, role: "Admin" });
  const job = await member.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "1" });
  const viewing = await openConsole(b, t, await t.actor({ role: "SystemAdmin", global: true }));
  const { page } = viewing;
  await viewing.open("");
  await page.getByRole("heading", { name: "Queues" }).waitFor();
  const scopes = await page.locator("#overview section.card").evaluateAll((cards) =>
    cards.map((card) => card.querySelector("[data-scope]")?.textContent ?? null)
  );
  assert.ok(scopes.length >= 5, "the overview has cards");
  assert.ok(scopes.every((scope) => scope !== null), JSON.stringify(scopes));
  assert.ok(scopes.includes("Shows:Service only"), "messages of tenants are not counted here");
  await viewing.requireAccessible();
  await viewing.open(`jobs/${job.body.id}`);
  await chip(viewing).getByText("Card House").waitFor();
  await viewing.close();
});

inBrowser(
  "all entries of the navigation fit into a window of 900 pixels; in lower ones they scroll",
  async (b) => {
    const FILES = ["read:files", "upload:files"];
    const everything = await t.actor({
      tenantId: t.platformTenantId,
      permissions: ["admin:system", ...FILES],
    });
    const viewing = await openConsole(b, t, everything);
    const { page } = viewing;
    const hidden = () =>
      page.evaluate<[number, string]>(`(() => {
        const list = document.querySelector("#sections");
        return [list.scrollHeight - list.clientHeight, getComputedStyle(list).overflowY];
      })()`);
    await page.setViewportSize({ width: 1440, height: 900 });
    await viewing.open("webhooks");
    assert.deepEqual(await hidden(), [0, "auto"]);
    const inPortuguese = await openConsole(b, t, everything, { locale: "pt-BR" });
    await inPortuguese.page.setViewportSize({ width: 1440, height: 900 });
    await inPortuguese.open("webhooks");
    const tooTall =
      "document.querySelector('#sections').scrollHeight - document.querySelector('#sections').clientHeight";
    assert.equal(await inPortuguese.page.evaluate(tooTall), 0);
    await inPortuguese.close();
    await page.setViewportSize({ width: 1440, height: 500 });
    await page.reload();
    await page.locator("#sections").getByRole("link", { name: "Webhooks" }).waitFor();
    assert.ok(await page.locator("#sections [aria-current]").isVisible());
    const [more] = await hidden();
    assert.ok(Number(more) > 100, "the navigation scrolls by itself");
    await viewing.requireAccessible();
    await viewing.close();
  },
);

Deno.test("figures of a page below a list, and those of another scope than the page's, name their own", async () => {
  const tenantId = await t.tenant({ name: "Chipwind" });
  const actor = await t.actor({ tenantId, role: "Admin" });
  const administrator = await t.actor({ role: "SystemAdmin", global: true });
  const labels = async (viewer: Actor, address: string) => {
    const { html } = await pageOf(viewer, address);
    const [, main = ""] = html.split("<main");
    return [...main.matchAll(/data-scope.*?<span>(?<label>[^<]*)<\/span><\/span>/g)].map((chip) =>
      chip.groups?.label
    );
  };
  const all = "Whole service";
  assert.deepEqual(await labels(administrator, "job-types/steward.echo"), Array(5).fill(all));
  assert.deepEqual(await labels(actor, "job-types/steward.echo"), Array(6).fill("Chipwind"));
  assert.deepEqual(await labels(actor, "roles"), ["Chipwind", "Chipwind"]);
  assert.deepEqual(await labels(actor, "notifications"), ["Chipwind", "Chipwind"]);
  assert.deepEqual(await labels(actor, "files"), ["Chipwind", all]);
});

Deno.test("a viewer of many tenants finds each, and may limit lists to none but them", async () => {
  const home = await t.tenant({ name: "Manywind" });
  const far = await t.tenant({ name: "Wind of the far end" });
  const stranger = await t.tenant({ name: "Wind of others" });
  const actor = await alsoIn(await t.actor({ tenantId: home, role: "Admin" }), far, "Visitor");
  await sql`with made as (
      insert into tenants (id, name, type)
      select gen_random_uuid(), 'Many ' || n, 'Standard' from generate_series(1, 100) n returning id
    )
    insert into user_tenants (user_id, tenant_id) select ${actor.userId}, id from made`;
  const { html: dialog } = await pageOf(actor, "scope?part=dialog");
  assert.equal(dialog.match(/role="option"/g)?.length, 20);
  assert.match(dialog, /82/);
  const { html: found } = await pageOf(actor, "scope?part=dialog&q=far%20end");
  assert.match(found, /Wind of the far end/);
  assert.doesNotMatch((await pageOf(actor, "scope?part=dialog&q=wind")).html, /Wind of others/);
  const browser = await browse(t, actor);
  const csrf = hiddenOf((await browser.open("scope")).html, "tenant");
  const refused = await browser.send("tenant", [...csrf, ["tenantId", stranger]]);
  assert.equal(refused.status, 303);
  assert.match((await browser.open("jobs")).html, /Manywind/);
  await browser.send("tenant", [...csrf, ["tenantId", far]]);
  assert.match((await browser.open("jobs")).html, /<span class="scope-name">Wind of the far end/);
});
