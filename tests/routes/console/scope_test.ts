import assert from "node:assert/strict";
import {
  continueInJoinedTenant,
  openBrowserSession,
  readBrowserSession,
} from "../../../domain/access/sign_in/browser_session.ts";
import { pluck } from "../../support/answers.ts";
import { accepted } from "../../support/outcomes.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { Actor, setupFile } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { catalogRole, insertLink } from "../access/users.ts";
import { browse, browseAt, hiddenOf, type PlainBrowser } from "./plain_browser.ts";
import { textOf } from "./shown_page.ts";

const t = await setupFile(); // its lists are of the whole service
const { platform, sql } = t;

/** Adds an actor to a tenant with a catalog role of it, and signs in again. */
async function alsoIn(actor: Actor, tenantId: string, role: string): Promise<Actor> {
  await insertLink(t, actor.userId, tenantId, await catalogRole(t, role, tenantId));
  return await t.signedIn(actor);
}

/** The scopes that the page names: exactly one, in the bar. */
const scopes = ({ page }: PlainBrowser): string[] =>
  page.all("*", ({ attribs }) => "data-scope" in attribs).map(textOf);

/** Goes to the page of scopes and chooses the one found by a text. */
async function switchTo(browser: PlainBrowser, search: string, name: string): Promise<void> {
  await browser.follow("Scope: ");
  await browser.press("Search", { q: search });
  await browser.press(name);
}

const unique = (name: string): string => `${name} ${crypto.randomUUID().slice(0, 8)}`;

Deno.test("a switch of the tenant keeps the page and its filters; a page that does not exist there leads to its list", async () => {
  const [east, west] = [unique("Eastwind"), unique("Wéstwind <b>& Co")];
  const here = await t.actor({ tenantId: await t.tenant({ name: east }), role: "Admin" });
  const { body: job } = await here.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "1" });
  const browser = await browse(t, await alsoIn(here, await t.tenant({ name: west }), "Visitor"));
  await browser.visit("jobs?status=Failed&page=3");
  assert.equal(scopes(browser)[0], east);
  await switchTo(browser, west.replace("é", "e"), west);
  assert.equal(browser.page.address, "/console/jobs?status=Failed");
  browser.page.shows(`You see ${west} now.`);
  assert.equal(scopes(browser)[0], west);
  await switchTo(browser, east, east);
  await browser.visit(`jobs/${job.id}`);
  await switchTo(browser, west, west);
  assert.equal(browser.page.address, "/console/jobs");
  browser.page.shows(`That page does not exist in ${west}, so here is the list.`);
  await switchTo(browser, east, east);
  await browser.visit("users/new");
  await switchTo(browser, west, west); // a visitor there may not create users
  assert.equal(browser.page.address, "/console/users");
  await browser.visit(`jobs/${job.id}`);
  browser.page.shows(`It exists in ${east}.`);
  await browser.press(`Switch to ${east}`);
  assert.equal(browser.page.shows("steward.echo").address, `/console/jobs/${job.id}`);
});

Deno.test("an administrator finds a tenant among many and works in it, on the same page", async () => {
  const branch = unique("Casa Verde");
  const tenantId = await t.tenant({ name: branch });
  await sql`insert into tenants (id, name, type)
    select gen_random_uuid(), 'Branch ' || gen_random_uuid(), 'Standard' from generate_series(1, 60)`;
  await sql`with made as (
      insert into users (id, email, first_name, last_name)
      select gen_random_uuid(), 'many-' || id || '@branch.test', '', '' from tenants where name like 'Branch %' limit 60 returning id, email
    ) insert into user_tenants (user_id, tenant_id, is_default) select id, substr(email, 6, 36)::uuid, true from made`;
  const admin = await t.actor({ role: "SystemAdmin" });
  const browser = await browseAt(t, admin, "users?search=many-&pageSize=100");
  assert.equal(browser.page.rows.length, 60);
  assert.ok(browser.page.rows.every((row) => row.includes("Branch ")), "a row tells its tenant by its name");
  await browser.visit("jobs");
  assert.equal(scopes(browser)[0], "Whole service");
  await browser.follow("Scope: ");
  await browser.press("Search", { q: branch.slice(0, 12) });
  await browser.follow(branch);
  assert.equal(browser.page.heading, `Work in this tenant: ${branch}`);
  await browser.press("Work in this tenant", { Admin: true });
  assert.equal(browser.page.shows(`You belong to ${branch} now and work in it.`).address, "/console/jobs");
  assert.equal(scopes(browser)[0], branch);
  assert.ok(!(await browser.visit(`tenants/${tenantId}`)).offers.includes("Work in this tenant"));
  (await browser.visit("users")).shows(admin.email);
  assert.equal((await admin.get("/api/v1/auth/me")).status, 401, "earlier tokens have ended");
  await switchTo(browser, "whole", "Whole service");
  assert.equal((await browser.visit("jobs"), scopes(browser)[0]), "Whole service");
  assert.equal((await browser.visit("report-schedules"), scopes(browser)[0]), "Service only");
  assert.equal((await browser.visit(`jobs?tenantId=${tenantId}`), scopes(browser)[0]), branch);
});

Deno.test("the pages of a tenant that one looks at lead to others of it, and to no action elsewhere", async () => {
  const branch = unique("Casa Azul");
  const tenantId = await t.tenant({ name: branch });
  const browser = await browse(t, t.systemAdmin);
  await browser.visit(`dead-letters?tenantId=${tenantId}`);
  await browser.follow("Purge");
  assert.equal(scopes(browser)[0], branch);
  await browser.visit(`?tenantId=${tenantId}`);
  await browser.go("Last day", "Jobs");
  browser.page.lacks("Enqueue a job");
  await browser.press("Filter", { queue: "imports" });
  assert.equal(scopes(browser)[0], branch);
  await browser.follow("Clear");
  assert.equal(scopes(browser)[0], branch);
  (await browser.visit("users")).lacks("Move to another role");
  await browser.visit("jobs/new"); // a new job is of the viewer's tenant, also for those who see the whole service
  assert.notEqual(scopes(browser)[0], "Whole service");
  const theirs = await t.actor({ tenantId, role: "Admin" });
  const failing = { jobTypeName: "steward.fail", serializedArgs: `{"message":"x"}`, maxRetries: 0 };
  await t.settled((await accepted(theirs.post("/api/v1/jobs", failing))).id);
  const counts = await browser.open(`?part=counts&tenantId=${tenantId}`);
  assert.match(counts.html, new RegExp(`href="dead-letters\\?tenantId=${tenantId}"[^>]*>1<`));
  (await browser.visit(`users?tenantId=${tenantId}`)).lacks("Invite a person", "Move to another role");
  assert.equal(browser.page.rows.length, 1);
  const all = { list: "users", query: `tenantId=${tenantId}`, do: "deactivate", all: "true" };
  const { location } = await browser.submit("lists/count", all);
  await browser.visit(location.replace(/^.*\/console\//, ""));
  browser.page.shows(`to exactly 1 row in ${branch}`);
});

Deno.test("a viewer is offered only their own tenants, and may switch to no other", async () => {
  const [own, second, foreign] = [unique("Own House"), unique("Second House"), unique("Foreign House")];
  const foreignId = await t.tenant({ name: foreign });
  const owner = await t.actor({ tenantId: await t.tenant({ name: own }), role: "Admin" });
  const browser = await browse(t, await alsoIn(owner, await t.tenant({ name: second }), "Admin"));
  for (const q of ["House", foreignId, "%", "\\", "x".repeat(5_000), "\u0000\ud800"]) {
    const page = await browser.visit(`scope?q=${encodeURIComponent(q.toWellFormed())}`);
    assert.equal(page.lacks(foreign).status, 200, q.slice(0, 20));
  }
  const admin = await browse(t, t.systemAdmin);
  for (const back of ["//evil.test", "https://evil.test", "javascript:alert%281%29", "\\\\evil"]) {
    const { html } = await admin.open(`work-in/${foreignId}?back=${encodeURIComponent(back)}`);
    assert.doesNotMatch(html, /(href|action)="(\/\/|\\|https?:|javascript:)/, back);
  }
  await browser.visit("");
  for (const tenantId of [foreignId, "' or 1=1", "no' uuid"]) {
    const { status, location } = await browser.submit("tenant", { tenantId, back: "//evil.test/" });
    assert.deepEqual([status, location], [303, "/console/"]);
    assert.equal((await browser.visit(""), scopes(browser)[0]), own);
  }
});

Deno.test("an administrator of the service sees messages, reports and templates of all tenants, others their own", async () => {
  const names = [unique("Fernhill"), unique("Glenrock")];
  const permissions = ["send:notifications", "read:users", "read:files"];
  const actors = await Promise.all(
    names.map(async (name) => await t.actor({ tenantId: await t.tenant({ name }), permissions })),
  );
  for (const [n, actor] of actors.entries()) {
    const to = { channel: "InApp", recipients: [{ address: actor.userId }] };
    const texts = { subject: `Subject ${names[n]}`, textBody: "x" };
    await accepted(actor.post("/api/v1/notifications/send", { ...to, ...texts }), 200);
    const template = { slug: "scope-sample", name: `Template ${names[n]}`, textBodyTemplate: "x" };
    await accepted(actor.post("/api/v1/notification-templates", template), 201);
    await sql`insert into report_executions (id, tenant_id, template_id, report_name, format, status, parameters_json,
      required_permissions) values (${newId()}, ${actor.tenantId}, 'users', 'Users', 3, 6, '{}', '{}')`;
  }
  const everywhere = await browse(t, await t.actor({ tenantId: t.platformTenantId, role: "SystemAdmin" }));
  const own = await browse(t, actors[0] ?? assert.fail());
  for (const list of ["notifications", "templates?search=scope-sample", "report-runs"]) {
    const { rows } = await everywhere.visit(list);
    for (const name of names) assert.ok(rows.some((row) => row.includes(name)), `${list}: ${name}`);
    assert.deepEqual(scopes(everywhere), ["Whole service"]);
    const ofOther = `${list}${list.includes("?") ? "&" : "?"}tenantId=${actors[1]?.tenantId}`;
    assert.equal((await everywhere.visit(ofOther)).rows.length, 1, list);
    const mine = await own.visit(`${ofOther}&everywhere=true`);
    assert.ok(!mine.html.includes(names[1] ?? ""), list);
    assert.equal(mine.rows.length, 1, list);
  }
});

Deno.test("one bar names the scope, and every figure, list, pause and refusal of the page is of it", async () => {
  const [name, other] = [unique("Barwind"), unique("Otherwind")];
  const [tenantId, otherId] = [await t.tenant({ name }), await t.tenant({ name: other })];
  const actor = await t.actor({ tenantId, role: "Admin" });
  const waiting = { jobTypeName: "steward.echo", queue: "bars", scheduledAt: "2050-01-01T00:00:00Z" };
  const { body: job } = await actor.post("/api/v1/jobs", waiting);
  const there = await t.actor({ tenantId: otherId, permissions: ["manage:jobs", "manage:webhooks"] });
  await there.post("/api/v1/jobs/queues/others/pause", { reason: "elsewhere" });
  await accepted(there.post("/api/v1/webhook-endpoints", { url: "https://x.test/", eventTypes: "*" }), 201);
  await sql`update webhook_endpoints set failing_since = now() - interval '1 hour' where tenant_id = ${otherId}`;
  const administrator = await browse(t, await t.actor({ role: "SystemAdmin", global: true }));
  const scopeOf = async (browser: PlainBrowser, address: string) => {
    await browser.visit(address);
    const found = scopes(browser);
    assert.equal(found.length, 1, address);
    return found[0];
  };
  const all = "Whole service";
  assert.equal(await scopeOf(administrator, ""), all);
  administrator.page.shows(
    "Tenants with the most failures",
    other,
    "Pause for all tenants",
    "bars",
    "others",
  );
  for (const page of ["job-types/steward.echo", "workers"]) {
    assert.equal(await scopeOf(administrator, page), all);
  }
  assert.equal(await scopeOf(administrator, `jobs/${job.id}`), name);
  assert.equal(await scopeOf(administrator, `?tenantId=${tenantId}`), name); // looks at it without a link
  administrator.page.shows("without working in it", "bars").lacks("others", "Pause in", "Pause for");
  assert.equal(await scopeOf(administrator, `dead-letters/retry?tenantId=${tenantId}`), name);
  await administrator.visit(`queues/bars/pause?tenantId=${tenantId}`);
  await administrator.press(`Pause queue bars in ${name}`);
  administrator.page.shows("without working in it");
  assert.equal((await sql`select from job_pauses where name = 'bars'`).count, 0);
  const inTenant = await browse(t, await t.actor({ tenantId, permissions: ["manage:jobs"] }));
  assert.equal(await scopeOf(inTenant, ""), name);
  inTenant.page.shows(`Pause in ${name}`, "bars").lacks("others");
  await inTenant.visit("queues/bars/pause");
  await inTenant.press(`Pause queue bars in ${name}`);
  inTenant.page.shows(`Queue bars is paused in ${name}.`);
  const paused = await sql`select tenant_id from job_pauses where name = 'bars'`;
  assert.deepEqual(paused.map((pause) => pause.tenantId), [tenantId]);
  const viewer = await browse(t, actor);
  for (const page of ["roles", "notifications"]) assert.equal(await scopeOf(viewer, page), name);
  const page = await (await browse(t, await t.actor({ tenantId, permissions: [] }))).visit("users");
  page.shows(`You need read:users or manage:all-users in ${name}.`, `Ask an administrator of ${name}`);
  assert.equal(page.status, 403);
});

Deno.test("after a switch in a second tab, a form and an undo of the first tenant change nothing in the other", async () => {
  const [here, there] = [await t.tenant(), await t.tenant()];
  const admin = await t.actor({ tenantId: here, role: "Admin" });
  const both = await alsoIn(admin, there, "Admin");
  const adminThere = await t.actor({ tenantId: there, role: "Admin" });
  const person = await t.actor({ tenantId: here, permissions: [] });
  await sql`delete from user_tenant_roles where user_id = ${person.userId}`;
  await alsoIn(person, there, "Visitor");
  const browser = await browse(t, both);
  const address = `users/${person.userId}/roles`;
  const form = hiddenOf((await browser.open(address)).html, address);
  const [visitor] = await sql`select id from roles where tenant_id = ${here} and name = 'Visitor'`;
  assert.equal((await browser.send(address, [...form, ["roleIds", visitor?.id]])).status, 303);
  const { html } = await browser.open(`users/${person.userId}`);
  await browser.submit("tenant", { tenantId: there });
  assert.equal((await browser.send(address, form)).status, 403);
  await browser.send("undo", hiddenOf(html, "undo"));
  const { body: roles } = await adminThere.get(`/api/v1/users/${person.userId}/roles`);
  assert.deepEqual(pluck(roles, "name"), ["Visitor"]);
});

Deno.test("a user is exported and erased on their page, and an inactive tenant after its name was repeated", async () => {
  const lea = { email: `${crypto.randomUUID()}@personal.example`, password: "violet harbour 91 lantern" };
  const { body } = await t.systemAdmin.post("/api/v1/admin/users", { ...lea, firstName: "Lea" });
  const browser = await browseAt(t, t.systemAdmin, `users/${body.id}`);
  await browser.follow("Personal data");
  (await browser.press("Export data")).shows("The export has begun.");
  await browser.waitFor("Download");
  (await browser.press("Erase…", { Reason: "left the company" })).shows("The erasure has begun.");
  await until(async () => /Completed.*Completed/.test((await browser.visit(`users/${body.id}/data`)).text));
  browser.page.shows("left the company");
  const [user] = await sql`select email from users where id = ${body.id}`;
  assert.match(user?.email, /^erased-/);
  const name = unique("Casa Azul");
  const tenantId = await t.tenant({ name });
  await browser.visit(`tenants/${tenantId}/data`);
  await browser.press("Erase…", { Reason: "contract ended", "Name of the tenant": name });
  browser.page.shows("The tenant is active. Deactivate it first");
  await sql`update tenants set is_active = false where id = ${tenantId}`;
  (await browser.press("Erase…")).shows("The erasure has begun.");
});

Deno.test("after a change besides the new link, the browser must sign in again", async () => {
  const elsewhere = await t.tenant({});
  const tenantId = await t.tenant({});
  const [role] = await sql`select id from roles where tenant_id = ${tenantId} and name = 'Admin'`;
  for (const alsoChanged of [false, true]) {
    const admin = await t.actor({ role: "SystemAdmin" });
    const secret = await openBrowserSession(platform, admin.token ?? "");
    const path = `/api/v1/admin/users/${admin.userId}/tenants`;
    await accepted(t.systemAdmin.post(path, { tenantId, roleIds: [role?.id] }), 201);
    if (alsoChanged) {
      await sql`update users set security_version = security_version + 1 where id = ${admin.userId}`;
    }
    assert.equal(await readBrowserSession(sql, secret), "access-changed");
    const o = { secret, userId: admin.userId, tenantId };
    assert.equal(await continueInJoinedTenant(platform, o), !alsoChanged);
    const session = await readBrowserSession(sql, secret);
    if (alsoChanged) assert.equal(session, "access-changed");
    else assert.equal(typeof session === "object" && session?.tenantId, tenantId);
    assert.equal(await continueInJoinedTenant(platform, o), false, "works once");
    const unlinked = continueInJoinedTenant(platform, { ...o, tenantId: elsewhere });
    await assert.rejects(unlinked, { code: "TENANT_FORBIDDEN" });
  }
});
