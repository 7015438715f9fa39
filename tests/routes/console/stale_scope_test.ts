import assert from "node:assert/strict";
import { until } from "../../support/until.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { browse, hiddenOf } from "./plain_browser.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

/** Adds an actor to a tenant with a catalog role of it. */
async function alsoIn({ userId }: Actor, tenantId: string, role: string): Promise<void> {
  await sql`insert into user_tenants (user_id, tenant_id) values (${userId}, ${tenantId})`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${userId}, ${tenantId}, id from roles where tenant_id = ${tenantId} and name = ${role}`;
}

const rolesOf = async (actor: Actor, userId: string): Promise<string[]> =>
  (await actor.get(`/api/v1/users/${userId}/roles`)).body.map(({ name }: { name: string }) => name);

async function twoTenants() {
  const [here, there] = [await t.tenant(), await t.tenant()];
  const admin = await t.actor({ tenantId: here, role: "Admin" });
  await alsoIn(admin, there, "Admin");
  const adminThere = await t.actor({ tenantId: there, role: "Admin" });
  const person = await t.actor({ tenantId: here, permissions: [] });
  await sql`delete from user_tenant_roles where user_id = ${person.userId}`;
  await alsoIn(person, there, "Visitor");
  const browser = await browse(t, await t.signedIn(admin));
  return { here, there, adminThere, person, browser };
}

Deno.test("a form of one tenant changes nothing after a switch to another in a second tab", async () => {
  const { there, adminThere, person, browser } = await twoTenants();
  const address = `users/${person.userId}/roles`;
  const form = hiddenOf((await browser.open(address)).html, address);
  const { html } = await browser.open("");
  const csrf = hiddenOf(html, "sign-out");
  await browser.send("tenant", [...csrf, ["tenantId", there]]);
  const sent = await browser.send(address, form);
  assert.equal(sent.status, 403);
  assert.deepEqual(await rolesOf(adminThere, person.userId), ["Visitor"]);
});

Deno.test("nothing is undone in another tenant than the one of the action", async () => {
  const { here, there, adminThere, person, browser } = await twoTenants();
  const address = `users/${person.userId}/roles`;
  const form = hiddenOf((await browser.open(address)).html, address);
  const [visitor] = await sql`select id from roles where tenant_id = ${here} and name = 'Visitor'`;
  assert.equal((await browser.send(address, [...form, ["roleIds", visitor?.id]])).status, 303);
  const { html } = await browser.open(`users/${person.userId}`);
  await browser.send("tenant", [...hiddenOf(html, "sign-out"), ["tenantId", there]]);
  await browser.send("undo", hiddenOf(html, "undo"));
  assert.deepEqual(await rolesOf(adminThere, person.userId), ["Visitor"]);
});

Deno.test("who has left a tenant or lost the permission gets no file of its list any more", async () => {
  const [here, there] = [await t.tenant(), await t.tenant()];
  const owner = await t.actor({ tenantId: here, role: "Admin" });
  await alsoIn(owner, there, "Admin");
  await sql`insert into settings (id, tenant_id, key, value)
    select gen_random_uuid(), ${here}, 'left.' || n, 'secret of here' from generate_series(1, 10001) n`;
  const browser = await browse(t, await t.signedIn(owner));
  const { location } = await browser.open("settings?as=csv");
  const task = location.replace(/^.*\/console\//, "");
  await browser.send(`${task}/start`, hiddenOf((await browser.open(task)).html, `${task}/start`));
  const isReady = async () => (await browser.open(`${task}/download`)).location.includes("://");
  await until(isReady);

  const elsewhere = await browse(t, await t.signedIn(owner));
  await elsewhere.send("tenant", [...hiddenOf((await elsewhere.open("")).html, "sign-out"), [
    "tenantId",
    there,
  ]]);
  assert.ok((await elsewhere.open(`${task}/download`)).location.includes("://"), "also from another tenant");

  await sql`delete from user_tenant_roles where user_id = ${owner.userId} and tenant_id = ${here}`;
  await sql`delete from user_tenants where user_id = ${owner.userId} and tenant_id = ${here}`;
  await sql`update user_tenants set is_default = true where user_id = ${owner.userId}`;
  const later = await browse(t, await t.signedIn({ ...owner, tenantId: there } as Actor));
  const answer = await later.open(`${task}/download`);
  assert.equal(answer.status, 403, answer.location);
  assert.equal((await later.open("settings")).status, 200, "the session goes on");
});
