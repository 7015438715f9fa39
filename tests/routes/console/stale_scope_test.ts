import assert from "node:assert/strict";
import { newSecret } from "../../../domain/shared/secrets.ts";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { until } from "../../support/until.ts";
import { type Actor, setup } from "../../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;

/** Adds an actor to a tenant with a catalog role of it. */
async function alsoIn({ userId }: Actor, tenantId: string, role: string): Promise<void> {
  await sql`insert into user_tenants (user_id, tenant_id) values (${userId}, ${tenantId})`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select ${userId}, ${tenantId}, id from roles where tenant_id = ${tenantId} and name = ${role}`;
}

/** A browser without scripts that is signed in to the console. */
async function browse(actor: Actor) {
  const cookies = new Map([
    ["steward_console", await openBrowserSession(t.steward.platform, actor.token ?? "")],
  ]);
  async function ask(address: string, form?: [string, string][]) {
    const response = await fetch(`${t.url}/console/${address}`, {
      redirect: "manual",
      headers: { cookie: [...cookies].map((cookie) => cookie.join("=")).join("; "), origin: t.url },
      ...form ? { method: "POST", body: new URLSearchParams(form) } : {},
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    return {
      status: response.status,
      location: response.headers.get("location") ?? "",
      html: await response.text(),
    };
  }
  return {
    open: (address: string) => ask(address),
    send: (address: string, form: [string, string][]) => ask(address, form),
  };
}

/** The hidden fields of the form with an action. */
function hiddenOf(html: string, action: string): [string, string][] {
  const [form = ""] =
    html.match(/<form\b[^]*?<\/form>/g)?.filter((text) => text.includes(`action="${action}"`)) ?? [];
  const fields = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
  assert.ok(fields.length > 0, `no form ${action}`);
  return fields.map(([, name = "", value = ""]) => [name, value.replaceAll("&quot;", '"')]);
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
  const browser = await browse(await t.signedIn(admin));
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
  const browser = await browse(await t.signedIn(owner));
  const { location } = await browser.open("settings?as=csv");
  const task = location.replace(/^.*\/console\//, "");
  await browser.send(`${task}/start`, hiddenOf((await browser.open(task)).html, `${task}/start`));
  const isReady = async () => (await browser.open(`${task}/download`)).location.includes("://");
  await until(isReady);

  const elsewhere = await browse(await t.signedIn(owner));
  await elsewhere.send("tenant", [...hiddenOf((await elsewhere.open("")).html, "sign-out"), [
    "tenantId",
    there,
  ]]);
  assert.ok((await elsewhere.open(`${task}/download`)).location.includes("://"), "also from another tenant");

  await sql`delete from user_tenant_roles where user_id = ${owner.userId} and tenant_id = ${here}`;
  await sql`delete from user_tenants where user_id = ${owner.userId} and tenant_id = ${here}`;
  await sql`update user_tenants set is_default = true where user_id = ${owner.userId}`;
  const later = await browse(await t.signedIn({ ...owner, tenantId: there } as Actor));
  const answer = await later.open(`${task}/download`);
  assert.equal(answer.status, 403, answer.location);
  assert.equal((await later.open("settings")).status, 200, "the session goes on");
});

Deno.test("an action on a few rows goes on by itself after a failure of the service", async () => {
  const owner = await t.actor({ role: "Admin" });
  const scheduledAt = new Date(Date.now() + 86_400_000).toISOString();
  const job = await owner.post("/api/v1/jobs", {
    jobTypeName: "steward.echo",
    serializedArgs: "[1]",
    scheduledAt,
  });
  const browser = await browse(owner);
  const csrf = hiddenOf((await browser.open("jobs")).html, "sign-out");
  const counted = await browser.send("lists/count", [
    ...csrf,
    ["list", "jobs"],
    ["query", ""],
    ["do", "cancel"],
    ["id", job.body.id],
  ]);
  const task = counted.location.replace(/^.*\/console\//, "");
  assert.match(task, /^lists\/tasks\//);
  const form = hiddenOf((await browser.open(task)).html, `${task}/start`);
  const name = `fail_${newSecret().replaceAll(/\W/g, "").slice(0, 8).toLowerCase()}`;
  await sql.unsafe(`create function ${name}() returns trigger language plpgsql as $$
    begin raise exception 'the disk is full'; end $$`);
  await sql.unsafe(`create trigger ${name} before update on jobs for each row when (old.id = '${job.body.id}')
    execute function ${name}()`);
  await browser.send(`${task}/start`, form);
  await sql.unsafe(`drop function ${name} cascade`);
  await until(async () => (await owner.get(`/api/v1/jobs/${job.body.id}`)).body.status === "Cancelled");
  await until(async () => (await browser.open(task)).html.includes("Completed"));
});
