import assert from "node:assert/strict";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { browse, searcher } from "./plain_browser.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

const mailTo = (address: string, subject: string) => {
  return { channel: "Email", recipients: [{ address }], subject, textBody: "x" };
};

Deno.test("pages, users, tenants, roles, job types, messages and records are found by name and address", async () => {
  const tenantId = await t.tenant({ name: "Harbour Lights" });
  const admin = await t.actor({ tenantId, role: "Admin" });
  const zelia = { email: "zelia.marrow@harbour.test", firstName: "Zélia", lastName: "Marrow" };
  const created = await accepted(
    admin.post("/api/v1/users", { ...zelia, password: "violet harbour 91 lantern" }),
  );
  const role = await admin.post("/api/v1/roles", { name: "Berth keeper", permissionIds: [] });
  const sent = await admin.post("/api/v1/notifications/send", mailTo("guest@harbour.test", "Your berth"));
  const manager = await t.actor({ tenantId, permissions: ["manage:applications"] });
  const application = await manager.post("/api/v1/applications", { code: "berths", name: "Berth booking" });
  const search = await searcher(t, admin);
  assert.deepEqual((await search("zelia marr")).hrefs, [`users/${created.id}`]);
  assert.deepEqual((await search("zelia.marrow@harbour.test")).hrefs, [`users/${created.id}`]);
  assert.deepEqual((await search("berth keep")).hrefs, [`roles/${role.body.id}`]);
  assert.deepEqual((await search("Guest@Harbour")).hrefs, [`notifications/${sent.body.notificationId}`]);
  assert.deepEqual((await search("berth book")).hrefs, [`applications/${application.body.id}`]);
  assert.ok((await search("dead-let")).hrefs.includes("dead-letters"), "a page by its path");
  assert.ok((await search("In")).hrefs.includes("inbox"), "pages are found by two letters");
  assert.ok((await search("steward.ech")).hrefs.includes("job-types/steward.echo"));
  assert.ok((await search("harbour lig")).hrefs.includes(`tenants/${tenantId}`));
});

Deno.test("nothing of another tenant is found, by id or by name", async () => {
  const theirs = await t.actor({ tenantId: await t.tenant({ name: "Secret Garden" }), role: "Admin" });
  const job = await theirs.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "1" });
  const role = await theirs.post("/api/v1/roles", { name: "Secret gardener", permissionIds: [] });
  const sent = await theirs.post("/api/v1/notifications/send", mailTo("guest@secret.test", "Secret"));
  const { body: me } = await theirs.get(`/api/v1/users/${theirs.userId}`);
  const search = await searcher(t, await t.actor({ role: "Admin" }));
  const ids = [job.body.id, role.body.id, sent.body.notificationId, theirs.userId];
  for (const q of [...ids, me.email, "Secret", "guest@secret.test"]) {
    const { hrefs } = await search(q);
    assert.deepEqual(hrefs.filter((href) => !/^reports?\b/.test(href)), [], q);
  }
});

Deno.test("things of the viewer's other tenants are found by name, name their tenant and lead there", async () => {
  const far = await t.tenant({ name: "Far Quay" });
  const theirs = await t.actor({
    tenantId: far,
    permissions: ["create:roles", "read:roles", "manage:api-keys"],
  });
  const role = await accepted(theirs.post("/api/v1/roles", { name: "Crane driver", permissionIds: [] }), 201);
  await accepted(theirs.post("/api/v1/api-keys", { name: "Crane meter", permissions: ["read:roles"] }), 201);
  const here = await t.actor({ role: "Admin" });
  await sql`insert into user_tenants (user_id, tenant_id) values (${here.userId}, ${far})`;
  const stranger = await searcher(t, await t.signedIn(here));
  assert.deepEqual((await stranger("crane")).hrefs, [], "not without the permission there");
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    values (${here.userId}, ${far}, ${theirs.roleId})`;
  const search = await searcher(t, await t.signedIn(here));
  const lateFirst = await search("crane", "dialog");
  assert.match(lateFirst.html, /data-late/, "the dialog asks again");
  const found = await search("crane");
  const to = (back: string) => `scope?${new URLSearchParams({ q: far, back })}`.replaceAll("&", "&amp;");
  assert.deepEqual(found.hrefs, [to(`roles/${role.id}`), to("api-keys?search=Crane+meter")]);
  assert.match(found.html, /Roles · Far Quay/);
  const browser = await browse(t, await t.signedIn(here));
  await browser.visit(`scope?${new URLSearchParams({ q: far, back: `roles/${role.id}` })}`);
  await browser.press("Far Quay");
  assert.equal(browser.page.address, `/console/roles/${role.id}`);
});

Deno.test("a trace id leads to its jobs, and a recurring job is found by its id: in the own tenant, or as an administrator in every one", async () => {
  const tenantId = await t.tenant({ name: "Rope Walk" });
  const owner = await t.actor({ tenantId, permissions: ["manage:jobs"] });
  const jobId = `ropes.${crypto.randomUUID().slice(0, 8)}`;
  const recurring = { jobId, jobTypeName: "steward.echo", cronExpression: "0 3 * * *", serializedArgs: "1" };
  await accepted(owner.post("/api/v1/recurring-jobs", recurring), 201);
  const traceId = crypto.randomUUID().replaceAll("-", "");
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
  const made = await owner.post("/api/v1/jobs", { jobTypeName: "steward.echo" }, { traceparent });
  const platform = await t.actor({ tenantId: t.platformTenantId, permissions: ["admin:system"] });
  for (const admin of [t.systemAdmin, platform]) {
    const search = await searcher(t, admin);
    assert.deepEqual((await search(jobId)).hrefs, [`recurring/${jobId}`]);
    const { hrefs, html } = await search(traceId);
    assert.deepEqual(hrefs, [`jobs/${made.body.id}`]);
    assert.match(html, /· Rope Walk/);
  }
  assert.deepEqual((await (await searcher(t, owner))(traceparent)).hrefs, [`jobs/${made.body.id}`]);
  assert.deepEqual((await (await searcher(t, await t.actor({ role: "Admin" })))(traceId)).hrefs, []);
});

Deno.test("any text is safe to search for, and an id typed into the search of a list leads to its page", async () => {
  const admin = await t.actor({ role: "Admin" });
  await admin.post("/api/v1/roles", { name: "<img src=x onerror=alert(1)>", permissionIds: [] });
  const search = await searcher(t, admin);
  for (const q of ["\\", "_ _", "'; drop table users --", "\u0000abc", "😀😀😀", "<b>", "x".repeat(10_000)]) {
    const { html } = await search(q, "dialog");
    assert.ok(!html.includes("<b>") && !html.includes("onerror=alert(1)>"), q.slice(0, 20));
  }
  assert.deepEqual((await search("%%%")).hrefs, [], "a wildcard is a character like others");
  assert.match((await search("<img src")).html, /&lt;img src=x onerror=alert\(1\)&gt;/);
  const { id } = await accepted(admin.post("/api/v1/jobs", { jobTypeName: "steward.echo" }));
  const [browser, stranger] = [await browse(t, admin), await browse(t, await t.actor({ role: "Admin" }))];
  const user = `users/${admin.userId}`;
  const pages = { "jobs?searchTerm=": `jobs/${id}`, "users?search=": user, "roles?search=": user };
  for (const [list, page] of Object.entries(pages)) {
    const typed = `${list}${page.split("/")[1]}`;
    const { status, location } = await browser.open(typed);
    assert.deepEqual([status, location], [303, `/console/${page}`], typed);
    const { headers } = await browser.open(typed, { "hx-request": "true" });
    assert.equal(headers.get("hx-redirect"), `/console/${page}`, typed);
    assert.equal((await stranger.open(typed)).status, 200, "not in another tenant");
  }
});

Deno.test("the whole service finds messages of all tenants; a word that nothing has finds no schedule; actions name what they pause", async () => {
  const tenantId = await t.tenant({ name: "Outer Pier" });
  const theirs = await t.actor({ tenantId, role: "Admin" });
  const mail = mailTo("pilot@pier.test", "Tide");
  const { notificationId } = await accepted(theirs.post("/api/v1/notifications/send", mail));
  const schedule = await accepted(theirs.post("/api/v1/reports/schedules", {
    name: "Tide table",
    templateId: "users",
    format: 1,
    cronExpression: "0 6 * * *",
    delivery: { method: 2, recipients: ["pilot@pier.test"] },
  }));
  const own = await searcher(t, theirs);
  assert.deepEqual((await own("ebb and flow")).hrefs, []);
  assert.deepEqual((await own("tide tab")).hrefs, [`report-schedules/${schedule.id}`]);
  const search = await searcher(t, t.systemAdmin);
  assert.deepEqual((await search("pilot@pier.test")).hrefs, [
    `work-in/${tenantId}?back=notifications%2F${notificationId}`,
  ]);
  assert.deepEqual((await search("pause mail")).hrefs, ["job-types/notifications.deliver/pause"]);
  assert.ok((await search("pause steward.echo")).hrefs.includes("job-types/steward.echo/pause"));
  assert.ok((await search("read:roles")).hrefs.some((href) => href.startsWith("permissions/")));
});
