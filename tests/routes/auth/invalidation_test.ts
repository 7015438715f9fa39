import assert from "node:assert/strict";
import { openBrowserSession } from "../../../domain/access/sign_in/browser_session.ts";
import { openSession } from "../../../domain/access/sign_in/sessions.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { mainPool, transact } from "../../../infra/postgres/postgres.ts";
import { createTestDatabase } from "../../support/cluster.ts";
import type { HttpClient } from "../../support/http.ts";
import { type Actor, setup } from "../../support/setup.ts";
import { bearer, person, signIn } from "./people.ts";

const here = await setup({ DATABASE_URL: await createTestDatabase() }); // one instance
Deno.test.afterAll(() => here.stop());
const sql = mainPool(here.steward.platform.sql);

const code = async (client: HttpClient) => (await client.get("/auth/me")).body.code ?? "OK";

/** The sessions of an actor besides the access token. */
const refreshTokens = new Map<Actor, string>();
const cookies = new Map<Actor, string>();

/** The access token of another session of the actor. */
async function openAnother({ userId }: Actor, tenantId: string | null): Promise<string> {
  const { accessToken } = await transact(sql, async (tx) => {
    const [user] = await tx<{ id: string; securityVersion: number }[]>`
      select id, security_version from users where id = ${userId}`;
    assert.ok(user);
    return await openSession(here.steward.platform, tx, {
      user,
      tenantId,
      amr: ["pwd"],
      ip: null,
      userAgent: null,
    });
  });
  return accessToken;
}

const visit = (actor: Actor, address = "account") =>
  fetch(`${here.url}/console/${address}`, {
    headers: { cookie: `steward_console=${cookies.get(actor)}` },
    redirect: "manual",
  });

/** "OK", or the error code for the actor's access token, refresh token and console session. */
async function codeOfAll(actor: Actor): Promise<string> {
  const page = await visit(actor);
  await page.body?.cancel();
  const refreshed = await here.nobody.post("/auth/refresh", {
    refreshToken: refreshTokens.get(actor) ?? actor.refreshToken,
  });
  if (refreshed.status === 200) refreshTokens.set(actor, refreshed.body.refreshToken);
  const codes = [await code(actor), refreshed.status === 200 ? "OK" : refreshed.body.code];
  assert.equal(codes[0], codes[1], "the access and the refresh token live and end together");
  assert.equal(page.status, codes[0] === "OK" ? 200 : 303, "so does the console session");
  return codes[0];
}

/** Makes a change and returns which of the actors' sessions the next request finds ended. */
async function ended(
  actors: Record<string, Actor>,
  change: () => Promise<{ status: number; body?: unknown }>,
) {
  for (const actor of Object.values(actors)) {
    if (!cookies.has(actor)) {
      const accessToken = await openAnother(actor, actor.tenantId);
      cookies.set(actor, await openBrowserSession(here.steward.platform, accessToken));
    }
    assert.equal(await code(actor), "OK");
  }
  const { status, body } = await change();
  assert.ok(status >= 200 && status < 300, `${status} ${JSON.stringify(body)}`);
  const codes = await Promise.all(Object.values(actors).map(codeOfAll));
  return Object.keys(actors).filter((_, index) => codes[index] === "SESSION_INVALIDATED");
}

/** Waits until this many statements of the service wait for a lock. */
async function blocked(count: number): Promise<void> {
  for (let waiting = -1; waiting < count;) {
    const rows =
      await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    waiting = rows.length;
  }
}

async function cast() {
  const tenantId = await here.tenant();
  const first = await here.actor({ tenantId, permissions: ["read:users"] });
  const same = await here.actor({ tenantId, role: "Visitor" });
  const fellow = await here.actor({ tenantId, permissions: [] });
  const outsider = await here.actor({ permissions: ["read:users"] });
  await sql`delete from user_tenant_roles where user_id = ${fellow.userId}`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    values (${fellow.userId}, ${tenantId}, ${first.roleId})`;
  return { first, fellow, same, outsider };
}

async function permissionIds(...codes: string[]): Promise<string[]> {
  const rows = await sql<
    { id: string }[]
  >`select id from permissions where tenant_id is null and code = any(${codes})`;
  return rows.map((row) => row.id);
}

/** A caller in the same tenant who may change its roles and users. */
const administrator = (actors: { first: Actor }) =>
  here.actor({ tenantId: actors.first.tenantId!, role: "Admin" });

Deno.test("changing a role's permissions ends the tokens of all its holders, and no others", async () => {
  const actors = await cast();
  const admin = await administrator(actors);
  const body = { permissionIds: await permissionIds("read:users", "read:roles") };
  const path = `/api/v1/roles/${actors.first.roleId}`;
  assert.deepEqual(await ended(actors, () => admin.put(path, body)), ["first", "fellow"]);
  assert.equal(await code(admin), "OK");
});

Deno.test("granting and revoking one permission of a role end the tokens of its holders", async () => {
  const [permissionId] = await permissionIds("read:roles");
  const actors = await cast();
  const path = `/api/v1/roles/${actors.first.roleId}/permissions/${permissionId}`;
  const admin = await administrator(actors);
  assert.deepEqual(await ended(actors, () => admin.post(path)), ["first", "fellow"]);
  const again = await cast();
  const other = await administrator(again);
  const [held] = await permissionIds("read:users");
  const revoke = `/api/v1/roles/${again.first.roleId}/permissions/${held}`;
  assert.deepEqual(await ended(again, () => other.delete(revoke)), ["first", "fellow"]);
});

Deno.test("adding and replacing links of a user end only that user's tokens", async () => {
  const actors = await cast();
  const tenantId = await here.tenant();
  const [role] = await sql<
    { id: string }[]
  >`select id from roles where tenant_id = ${tenantId} and name = 'Visitor'`;
  const link = { tenantId, roleIds: [role?.id], isDefault: false };
  const path = `/api/v1/admin/users/${actors.first.userId}`;
  assert.deepEqual(await ended(actors, () => here.systemAdmin.post(`${path}/tenants`, link)), ["first"]);
  const again = await cast();
  const replace = () =>
    here.systemAdmin.put(`/api/v1/admin/users/${again.fellow.userId}`, { tenants: [link] });
  assert.deepEqual(await ended(again, replace), ["fellow"]);
});

Deno.test("a permission added to a catalog role in one tenant ends the sessions of its holders in that tenant only", async () => {
  const actors = { ...await cast(), elsewhere: await here.actor({ role: "Visitor" }) };
  const admin = await administrator(actors);
  const [permissionId] = await permissionIds("send:notifications");
  const path = `/api/v1/roles/${actors.same.roleId}/permissions/${permissionId}`;
  assert.deepEqual(await ended(actors, () => admin.post(path)), ["same"]);
});

Deno.test("each change of a user's links ends only that user's sessions", async () => {
  const tenantId = await here.tenant();
  const [visitor] = await sql<{ id: string }[]>`
    select id from roles where tenant_id = ${tenantId} and name = 'Visitor'`;
  const roleIds = [visitor?.id];
  const third = await here.actor();
  const linked = async () => {
    const actors = await cast();
    const { userId, tenantId: home, roleId } = actors.first;
    const path = `/api/v1/admin/users/${userId}`;
    const own = { tenantId: home, roleIds: [roleId], isDefault: true };
    const other = { tenantId, roleIds, isDefault: false };
    await sql`insert into user_tenants (user_id, tenant_id) values (${userId}, ${tenantId})`;
    await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
      values (${userId}, ${tenantId}, ${visitor?.id ?? ""})`;
    const matrix = (tenants: unknown[]) => () => here.systemAdmin.put(path, { tenants });
    return { actors, own, other, matrix, path };
  };
  type Linked = Awaited<ReturnType<typeof linked>>;
  const changes: Record<string, (l: Linked) => () => Promise<{ status: number; body?: unknown }>> = {
    "a link goes": ({ own, matrix }) => matrix([own]),
    "all links go": ({ matrix }) => matrix([]),
    "a link is deactivated": ({ own, other, matrix }) => matrix([own, { ...other, isActive: false }]),
    "the default moves": ({ own, other, matrix }) =>
      matrix([{ ...own, isDefault: false }, { ...other, isDefault: true }]),
    "a role goes from a link": ({ own, other, matrix }) => matrix([own, { ...other, roleIds: [] }]),
    "its own administrator takes the user out": ({ actors }) => async () =>
      await (await administrator(actors)).delete(`/api/v1/users/${actors.first.userId}`),
    "its own administrator gives other roles": ({ actors }) => async () =>
      await (await administrator(actors)).put(`/api/v1/users/${actors.first.userId}/roles`, {
        roleIds: [actors.same.roleId],
      }),
    "a third tenant takes the user in, as default": ({ actors }) => () =>
      here.systemAdmin.post(`/api/v1/tenants/${third.tenantId}/users`, {
        userId: actors.first.userId,
        roleIds: [third.roleId],
        isDefault: true,
      }),
  };
  for (const [name, change] of Object.entries(changes)) {
    const l = await linked();
    assert.deepEqual(await ended(l.actors, change(l)), ["first"], name);
  }
  const l = await linked();
  await sql`update user_tenants set is_active = false where user_id = ${l.actors.first.userId} and tenant_id = ${tenantId}`;
  assert.deepEqual(await ended(l.actors, l.matrix([l.own, l.other])), ["first"], "a link is activated");
});

Deno.test("changes that do not affect a user's permissions end no session", async () => {
  const actors = await cast();
  const { first } = actors;
  const group = await here.tenant({ type: "Group" });
  const keeper = await here.actor({
    tenantId: first.tenantId!,
    permissions: ["read:permissions", "create:permissions", "update:permissions", "delete:permissions"],
  });
  const inside = await here.actor({ tenantId: first.tenantId!, role: "Admin" });
  const user = `/api/v1/admin/users/${first.userId}`;
  const role = `/api/v1/roles/${first.roleId}`;
  const code = "read:orders";
  const row = (description: string) => ({ permissions: [{ code, description, category: "Orders" }] });
  const held = await permissionIds("read:users");
  const made = async () => {
    const { body } = await inside.get(`/api/v1/roles?search=Unheld`);
    return `/api/v1/roles/${body.items[0].id}`;
  };
  const permission = async () =>
    `/api/v1/permissions/${(await keeper.get(`/api/v1/permissions/by-code/${code}`)).body.id}`;
  const changes: Record<string, () => Promise<{ status: number; body?: unknown }>> = {
    "names and applications": () => here.systemAdmin.put(user, { firstName: "Renamed", appIds: ["crm"] }),
    "their own profile": () => first.put("/api/v1/auth/me", { lastName: "Own" }),
    "active as before": () => inside.post(`/api/v1/users/${first.userId}/activate`),
    "the same links and roles": () =>
      here.systemAdmin.put(user, {
        tenants: [{ tenantId: first.tenantId, roleIds: [first.roleId, first.roleId], isDefault: true }],
      }),
    "the same roles": () => inside.put(`/api/v1/users/${first.userId}/roles`, { roleIds: [first.roleId] }),
    "the same permissions": () => inside.put(role, { permissionIds: held }),
    "a permission the role has": () => inside.post(`${role}/permissions/${held[0]}`),
    "another name of the role": () => inside.put(role, { name: "Readers", description: "They read" }),
    "a role nobody holds": () => inside.post("/api/v1/roles", { name: "Unheld", permissionIds: held }),
    "that role with less": async () => await inside.put(await made(), { permissionIds: [] }),
    "that role deleted": async () => await inside.delete(await made()),
    "permissions imported": () => keeper.post("/api/v1/permissions/import?upsert=true", row("Read")),
    "permissions imported again, with other texts": () =>
      keeper.post("/api/v1/permissions/import?upsert=true", row("Read them")),
    "a permission described": async () => await keeper.put(await permission(), { description: "Reads" }),
    "a permission deleted that no role carries": async () => await keeper.delete(await permission()),
    "a tenant renamed and limited": () =>
      here.systemAdmin.put(`/api/v1/tenants/${first.tenantId}`, { name: `T ${newId()}`, maxUsers: 50 }),
    "a tenant that enters a group": () =>
      here.systemAdmin.put(`/api/v1/tenants/${first.tenantId}`, { parentTenantId: group }),
  };
  for (const [name, change] of Object.entries(changes)) {
    assert.deepEqual(await ended({ ...actors, inside }, change), [], name);
  }
});

Deno.test("deactivating and deleting a user end that user's tokens", async () => {
  const actors = await cast();
  const admin = await administrator(actors);
  const path = `/api/v1/users/${actors.first.userId}`;
  assert.deepEqual(await ended(actors, () => admin.post(`${path}/deactivate`)), ["first"]);
  assert.equal((await admin.post(`${path}/activate`)).status, 200);
  assert.equal(await code(actors.first), "SESSION_INVALIDATED");
  const { first: _, ...rest } = actors;
  const remove = () => here.systemAdmin.delete(`/api/v1/admin/users/${actors.fellow.userId}`);
  assert.deepEqual(await ended(rest, remove), ["fellow"]);
});

Deno.test("deactivating a tenant ends the tokens of all users linked to it", async () => {
  const actors = await cast();
  const { tenantId } = actors.first;
  const [tenant] = await sql<{ name: string }[]>`select name from tenants where id = ${tenantId}`;
  const change = () =>
    here.systemAdmin.put(`/api/v1/tenants/${tenantId}`, { name: tenant?.name, isActive: false });
  assert.deepEqual(await ended(actors, change), ["first", "fellow", "same"]);
});

Deno.test("activating and deleting a tenant end the tokens of its users", async () => {
  const actors = await cast();
  const { tenantId } = actors.first;
  const elsewhere = await here.tenant();
  await sql`insert into user_tenants (user_id, tenant_id) values (${actors.same.userId}, ${elsewhere})`;
  await sql`update tenants set is_active = false where id = ${tenantId}`;
  const { same, outsider } = actors;
  const global = here.nobody.with({ authorization: `Bearer ${await openAnother(same, null)}` });
  assert.equal(await code(global), "OK");
  const on = await here.systemAdmin.put(`/api/v1/tenants/${tenantId}`, { isActive: true });
  assert.equal(on.status, 200, JSON.stringify(on.body));
  assert.equal(await code(global), "SESSION_INVALIDATED");
  assert.equal(await code(outsider), "OK");
  const again = await cast();
  const remove = () => here.systemAdmin.delete(`/api/v1/tenants/${again.first.tenantId}`);
  assert.deepEqual(await ended(again, remove), ["first", "fellow", "same"]);
});

Deno.test("the console gives the reason for a new sign-in, and then returns to the page", async () => {
  const actors = await cast();
  const { same } = actors;
  const link = { tenantId: await here.tenant(), roleIds: [], isDefault: false };
  await ended(actors, () => here.systemAdmin.put(`/api/v1/admin/users/${same.userId}`, { tenants: [link] }));
  const page = await visit(same, "users?search=x");
  const location = page.headers.get("location") ?? "";
  assert.match(location, /\/console\/sign-in\?to=users%3Fsearch%3Dx&reason=access-changed$/);
  for (
    const [language, text] of [["en", "Your access changed. Sign in again."], [
      "pt",
      "Seu acesso mudou. Entre de novo.",
    ]]
  ) {
    const signInPage = await fetch(new URL(location, here.url), {
      headers: { "accept-language": language ?? "" },
    });
    const html = await signInPage.text();
    assert.ok(html.includes(text ?? ""), html);
    assert.ok(html.includes('action="sign-in?to=users%3Fsearch%3Dx"'));
  }
});

Deno.test("a tenant switch that runs during a change gives no tokens", async () => {
  const actor = await here.actor();
  assert.equal(await code(actor), "OK");
  const switching = await sql.begin(async (tx) => {
    await tx`lock table user_tenants in access exclusive mode`;
    const answer = actor.post("/auth/switch-tenant", { tenantId: actor.tenantId });
    await blocked(1);
    await tx`update users set security_version = security_version + 1 where id = ${actor.userId}`;
    return { answer };
  });
  const { status, body } = await switching.answer;
  assert.deepEqual([status, body.code], [401, "SESSION_INVALIDATED"]);
});

Deno.test("a user who gets a role while its permissions change keeps no session from before the change", async () => {
  const { first } = await cast();
  const admin = await administrator({ first });
  const second = await administrator({ first });
  const joining = await person(here, { links: [first.tenantId!], role: "Visitor" });
  const early = await signIn(here, joining.email);
  const { link, change } = await sql.begin(async (tx) => {
    await tx`select from roles where id = ${first.roleId} for update`; // both requests wait for the role
    const change = admin.put(`/api/v1/roles/${first.roleId}`, { permissionIds: [] });
    await blocked(1);
    const link = second.put(`/api/v1/users/${joining.id}/roles`, { roleIds: [first.roleId] });
    await blocked(2);
    return { link, change };
  });
  assert.equal((await change).status, 200);
  assert.equal((await link).status, 200, JSON.stringify((await link).body));
  assert.equal(await code(bearer(here, early)), "SESSION_INVALIDATED");
  const { body } = await signIn(here, joining.email);
  assert.deepEqual(body.permissions, []);
});
