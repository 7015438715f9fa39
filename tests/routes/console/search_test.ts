import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import type { Actor } from "../../support/setup.ts";
import { makeSamples } from "./samples.ts";
import { openConsole, setupConsole } from "./support.ts";

const { t, inBrowser } = await setupConsole({ OUTBOUND_ALLOW: "127.0.0.1" });
const { sql } = t.steward.platform;

/** A browser session of an actor, and what it finds: the addresses of the results, and the whole page. */
async function searcher(actor: Actor) {
  const secret = await openBrowserSession(t.steward.platform, actor.token ?? "");
  return async (q: string, part = "") => {
    const answer = await fetch(`${t.url}/console/search?${new URLSearchParams({ q, ...part && { part } })}`, {
      headers: { cookie: `steward_console=${secret}` },
    });
    const html = await answer.text();
    assert.equal(answer.status, 200, q);
    const results = html.slice(html.indexOf('<main id="content"')).split("</main>")[0] ?? "";
    const hrefs = [...results.matchAll(/class="finder-item" href="([^"]+)"/g)].map(([, href]) => href ?? "");
    return { html, hrefs };
  };
}

Deno.test("an id leads to every kind of thing, alone, in an address and without its dashes", async () => {
  const samples = await makeSamples(t);
  const FILES = ["read:files", "upload:files", "retain:files", "purge:files"];
  const administrator = await t.actor({
    tenantId: t.platformTenantId,
    permissions: ["admin:system", ...FILES],
  });
  const search = await searcher(administrator);
  const noIds = ["user-imports", "work-in"];
  for (const [section, id] of Object.entries(samples)) {
    if (noIds.includes(section) || !/^[\da-f-]{36}$/.test(id)) continue;
    const found = await search(` https://steward.test/console/${section}/${id.toUpperCase()}?x=1 `);
    assert.deepEqual(found.hrefs, [`${section}/${id}`], section);
  }
  assert.deepEqual((await search(samples.jobs?.replaceAll("-", "") ?? "")).hrefs, [`jobs/${samples.jobs}`]);
  assert.deepEqual((await search("7".repeat(8) + "-7777-7777-7777-" + "7".repeat(12))).hrefs, []);
});

Deno.test("pages, users, tenants, roles, files, job types and messages are found by name and address", async () => {
  const tenantId = await t.tenant({ name: "Harbour Lights" });
  const admin = await t.actor({ tenantId, role: "Admin" });
  const created = await admin.post("/api/v1/users", {
    email: "zelia.marrow@harbour.test",
    firstName: "Zélia",
    lastName: "Marrow",
    password: "violet harbour 91 lantern",
  });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const role = await admin.post("/api/v1/roles", { name: "Berth keeper", permissionIds: [] });
  const sent = await admin.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "guest@harbour.test" }],
    subject: "Your berth",
    textBody: "is ready",
  });
  const search = await searcher(admin);
  assert.deepEqual((await search("zelia marr")).hrefs, [`users/${created.body.id}`]);
  assert.deepEqual((await search("zelia.marrow@harbour.test")).hrefs, [`users/${created.body.id}`]);
  assert.deepEqual((await search("berth keep")).hrefs, [`roles/${role.body.id}`]);
  assert.deepEqual((await search("Guest@Harbour")).hrefs, [`notifications/${sent.body.notificationId}`]);
  assert.ok((await search("dead-let")).hrefs.includes("dead-letters"), "a page by its path");
  assert.ok((await search("In")).hrefs.includes("inbox"), "pages are found by two letters");
  assert.ok((await search("steward.ech")).hrefs.includes("job-types/steward.echo"));
  assert.ok((await search("harbour lig")).hrefs.includes(`tenants/${tenantId}`));
});

Deno.test("a trace id leads to its jobs", async () => {
  const admin = await t.actor({ role: "Admin" });
  const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
  const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
  const job = await admin.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "1" }, {
    traceparent,
  });
  const search = await searcher(admin);
  assert.deepEqual((await search(traceId)).hrefs, [`jobs/${job.body.id}`]);
  assert.deepEqual((await search(traceparent)).hrefs, [`jobs/${job.body.id}`]);
  assert.deepEqual((await (await searcher(await t.actor({ role: "Admin" })))(traceId)).hrefs, []);
});

Deno.test("nothing of another tenant is found, by id or by name", async () => {
  const theirs = await t.actor({ tenantId: await t.tenant({ name: "Secret Garden" }), role: "Admin" });
  const job = await theirs.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "1" });
  const role = await theirs.post("/api/v1/roles", { name: "Secret gardener", permissionIds: [] });
  const sent = await theirs.post("/api/v1/notifications/send", {
    channel: "Email",
    recipients: [{ address: "guest@secret.test" }],
    subject: "Secret",
    textBody: "x",
  });
  const { body: me } = await theirs.get(`/api/v1/users/${theirs.userId}`);
  for (const spy of [await t.actor({ role: "Admin" }), await t.actor({ permissions: [] })]) {
    const search = await searcher(spy);
    const ids = [job.body.id, role.body.id, sent.body.notificationId, theirs.userId];
    for (const q of [...ids, me.email, "Secret", "guest@secret.test"]) {
      const { hrefs } = await search(q);
      assert.deepEqual(
        hrefs.filter((href) => !href.startsWith("reports") && !href.startsWith("report-")),
        [],
        q,
      );
    }
  }
});

Deno.test("any text is safe to search for", async () => {
  const admin = await t.actor({ role: "Admin" });
  await admin.post("/api/v1/roles", { name: "<img src=x onerror=alert(1)>", permissionIds: [] });
  const search = await searcher(admin);
  const texts = [
    "%",
    "%%%",
    "\\",
    "\\\\\\",
    "_ _",
    "'; drop table users --",
    "x".repeat(10_000),
    "\u0000abc",
    "😀😀😀",
    "<b>",
  ];
  for (const q of texts) {
    for (const part of ["", "dialog"]) {
      const { html } = await search(q, part);
      assert.ok(!html.includes("<b>") && !html.includes("onerror=alert(1)>"), q.slice(0, 20));
    }
  }
  assert.deepEqual((await search("%%%")).hrefs, [], "a wildcard is a character like others");
  assert.match((await search("<img src")).html, /&lt;img src=x onerror=alert\(1\)&gt;/);
});

Deno.test("an id typed into the search of a list leads to its page", async () => {
  const admin = await t.actor({ role: "Admin" });
  const job = await admin.post("/api/v1/jobs", { jobTypeName: "steward.echo", serializedArgs: "1" });
  const stranger = await t.actor({ role: "Admin" });
  const ask = async (actor: Actor, address: string, headers: Record<string, string> = {}) => {
    const secret = await openBrowserSession(t.steward.platform, actor.token ?? "");
    const answer = await fetch(`${t.url}/console/${address}`, {
      headers: { cookie: `steward_console=${secret}`, ...headers },
      redirect: "manual",
    });
    await answer.body?.cancel();
    return [answer.status, answer.headers.get("location") ?? answer.headers.get("hx-redirect")];
  };
  const { id } = job.body;
  const user = `users/${admin.userId}`;
  const addresses = [["jobs?searchTerm=", `jobs/${id}`], ["users?search=", user], [
    "roles?search=",
    user,
  ]] as const;
  for (const [list, page] of addresses) {
    const typed = list + page.split("/")[1];
    assert.deepEqual(await ask(admin, typed), [303, `/console/${page}`], typed);
    assert.deepEqual(await ask(admin, typed, { "hx-request": "true" }), [200, `/console/${page}`], typed);
    assert.deepEqual(await ask(stranger, typed), [200, null], "not in another tenant");
  }
});

inBrowser("Ctrl-K finds a user by keyboard alone", async (b) => {
  const tenantId = await t.tenant();
  const admin = await t.actor({ tenantId, role: "Admin" });
  const [user] = await sql`select id from users where id = ${admin.userId}`;
  await sql`update users set first_name = 'Quirina', last_name = 'Sable' where id = ${user?.id}`;
  const viewing = await openConsole(b, t, admin, { theme: "dark" });
  const { page } = viewing;
  await viewing.open("jobs");
  await page.keyboard.press("Control+k");
  const input = page.getByRole("combobox", { name: "Search by name, email, id or trace id" });
  await input.waitFor();
  await page.getByText("Type a name, an email, an id or a trace id.").first().waitFor();
  await page.keyboard.type("quirina");
  const option = page.getByRole("dialog").getByRole("option", { name: "Quirina Sable" });
  await option.waitFor();
  await viewing.requireAccessible();
  assert.equal(await input.getAttribute("aria-activedescendant"), await option.getAttribute("id"));
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/console/users/${admin.userId}`);
  await page.getByRole("link", { name: "Search", exact: true }).click();
  await page.keyboard.type(`${admin.userId}`);
  await page.keyboard.press("Enter"); // before the results have come
  await page.waitForURL(`**/console/users/${admin.userId}`);
  await viewing.close();
});
