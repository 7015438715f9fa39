import assert from "node:assert/strict";
import { mainPool } from "../../../infra/postgres/postgres.ts";
import { pluck } from "../../support/answers.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { countLockWaits } from "../../support/lock_waits.ts";
import { accepted, outcome, refused } from "../../support/outcomes.ts";
import type { Actor } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { catalogRole, insertLink } from "../access/users.ts";
import { browse, PlainBrowser } from "../console/plain_browser.ts";
import { bearer, person, refresh, setupSignIns, signIn } from "./people.ts";

const t = await setupSignIns();
const { systemAdmin } = t;
const sql = mainPool(t.sql);
const ENDED = "401 SESSION_INVALIDATED";

const stateOf = (client: HttpClient) => outcome(client.get("/auth/me"));

type Change = () => Promise<HttpAnswer>;

/** Makes a change and returns which of the actors' sessions the next request finds ended. */
async function ended(actors: Record<string, Actor>, change: Change): Promise<string[]> {
  const names = Object.keys(actors);
  const states = () => Promise.all(Object.values(actors).map(stateOf));
  assert.deepEqual(await states(), names.map(() => "200"));
  await accepted(change());
  const after = await states();
  return names.filter((_, index) => after[index] === ENDED);
}

/** Two holders of one role, the holder of another role of their tenant, and somebody else. */
async function cast() {
  const tenantId = await t.tenant();
  const first = await t.actor({ tenantId, permissions: ["read:users"] });
  const same = await t.actor({ tenantId, role: "Visitor" });
  const fellow = await t.actor({ tenantId, permissions: [] });
  const outsider = await t.actor({ permissions: ["read:users"] });
  await sql`update user_tenant_roles set role_id = ${first.roleId} where user_id = ${fellow.userId}`;
  return { first, fellow, same, outsider };
}
type Cast = Awaited<ReturnType<typeof cast>>;

async function permissionIds(...codes: string[]): Promise<string[]> {
  const rows = await sql`select id from permissions where tenant_id is null and code = any(${codes})`;
  return pluck([...rows], "id");
}

/** A caller in the same tenant who may change its roles and users. */
const administrator = ({ first }: Pick<Cast, "first">) =>
  t.actor({ tenantId: first.tenantId!, role: "Admin" });
const userPath = ({ userId }: Actor) => `/api/v1/admin/users/${userId}`;
const rolePath = ({ roleId }: Actor) => `/api/v1/roles/${roleId}`;
const tenantPath = ({ tenantId }: Actor) => `/api/v1/tenants/${tenantId}`;

Deno.test("access tokens, refresh tokens and console sessions end together, and the console gives the reason", async () => {
  const { first, outsider } = await cast();
  const [browser, other] = [
    await browse(t, await t.signedIn(first)),
    await browse(t, await t.signedIn(outsider)),
  ];
  const role = { permissionIds: await permissionIds("read:roles") };
  await accepted((await administrator({ first })).put(rolePath(first), role));
  await refused(ENDED, first.get("/auth/me"), refresh(t, first));
  const { location } = await browser.open("users?search=x");
  assert.match(location, /\/console\/sign-in\?to=users%3Fsearch%3Dx&reason=access-changed$/);
  const texts = { en: "Your access changed. Sign in again.", pt: "Seu acesso mudou. Entre de novo." };
  for (const [language, text] of Object.entries(texts)) {
    const { html } = await new PlainBrowser(t, language).open(location);
    assert.ok(html.includes(text), html);
    assert.ok(html.includes('action="sign-in?to=users%3Fsearch%3Dx"')); // then it returns to the page
  }
  await accepted(outsider.get("/auth/me"));
  assert.equal((await other.open("account")).status, 200);
  await accepted(refresh(t, outsider));
});

Deno.test("a change of a role's permissions ends the tokens of all its holders, and no others", async () => {
  const [read, held, send] = await Promise.all(
    ["read:roles", "read:users", "send:notifications"].map(async (code) => (await permissionIds(code))[0]),
  );
  const changes: [expected: string[], change: (admin: Actor, actors: Cast) => Promise<HttpAnswer>][] = [
    [["first", "fellow"], (admin, { first }) => admin.put(rolePath(first), { permissionIds: [held, read] })],
    [["first", "fellow"], (admin, { first }) => admin.delete(`${rolePath(first)}/permissions/${held}`)],
    [["first", "fellow"], (admin, { first }) => admin.post(`${rolePath(first)}/permissions/${held}`)],
    // of a catalog role, only in this tenant
    [["same"], (admin, { same }) => admin.post(`${rolePath(same)}/permissions/${send}`)],
  ];
  const actors = await cast();
  const others = { admin: await administrator(actors), elsewhere: await t.actor({ role: "Visitor" }) };
  for (const [expected, change] of changes) {
    for (const name of ["first", "fellow"] as const) actors[name] = await t.signedIn(actors[name]);
    assert.deepEqual(await ended({ ...actors, ...others }, () => change(others.admin, actors)), expected);
  }
});

Deno.test("each change of a user's links ends only that user's sessions", async () => {
  const tenantId = await t.tenant();
  const roleId = await catalogRole(t, "Visitor", tenantId);
  const third = await t.actor();
  const { first: { tenantId: home }, ...others } = await cast();
  const { same } = others;
  const admin = await t.actor({ tenantId: home!, role: "Admin" });
  const linked = async () => {
    const first = await t.actor({ tenantId: home!, permissions: ["read:users"] });
    const own = { tenantId: home, roleIds: [first.roleId], isDefault: true };
    const other = { tenantId, roleIds: [roleId], isDefault: false };
    await insertLink(t, first.userId, tenantId, roleId);
    const matrix = (...tenants: unknown[]) => systemAdmin.put(userPath(first), { tenants });
    return { actors: { first, ...others }, own, other, matrix, inside: `/api/v1/users/${first.userId}` };
  };
  type Linked = Awaited<ReturnType<typeof linked>>;
  const changes: Record<string, (l: Linked) => Promise<HttpAnswer>> = {
    "a link goes": ({ own, matrix }) => matrix(own),
    "a link is deactivated": ({ own, other, matrix }) => matrix(own, { ...other, isActive: false }),
    "the default moves": ({ own, other, matrix }) =>
      matrix({ ...own, isDefault: false }, { ...other, isDefault: true }),
    "a role goes from a link": ({ own, other, matrix }) => matrix(own, { ...other, roleIds: [] }),
    "its own administrator takes the user out": ({ inside }) => admin.delete(inside),
    "its own administrator gives other roles": ({ inside }) =>
      admin.put(`${inside}/roles`, { roleIds: [same.roleId] }),
    "a third tenant takes the user in, as default": ({ actors: { first: { userId } } }) =>
      systemAdmin.post(`${tenantPath(third)}/users`, { userId, roleIds: [third.roleId], isDefault: true }),
  };
  for (const [name, change] of Object.entries(changes)) {
    const l = await linked();
    assert.deepEqual(await ended(l.actors, () => change(l)), ["first"], name);
  }
  const { actors, own, other, matrix } = await linked();
  await sql`update user_tenants set is_active = false
    where user_id = ${actors.first.userId} and tenant_id = ${tenantId}`;
  assert.deepEqual(await ended(actors, () => matrix(own, other)), ["first"], "a link is activated");
  const alone = await cast();
  const add = () => systemAdmin.post(`${userPath(alone.first)}/tenants`, other);
  assert.deepEqual(await ended(alone, add), ["first"], "a link is added");
});

Deno.test("changes that do not affect a user's permissions end no session", async () => {
  const actors = await cast();
  const { first } = actors;
  const { tenantId, roleId } = first;
  const inside = await administrator(actors);
  const verbs = ["read", "create", "update", "delete"];
  const keeper = await t.actor({
    tenantId: tenantId!,
    permissions: verbs.map((verb) => `${verb}:permissions`),
  });
  const code = "read:orders";
  const permissions = [{ code, description: "Read", category: "Orders" }];
  const permission = async () =>
    `/api/v1/permissions/${(await accepted(keeper.get(`/api/v1/permissions/by-code/${code}`))).id}`;
  const group = await t.tenant({ type: "Group" });
  const user = `/api/v1/users/${first.userId}`;
  const permissionsOf = await permissionIds("read:users");
  const unheld = async () =>
    `/api/v1/roles/${(await accepted(inside.get("/api/v1/roles?search=Unheld"))).items[0].id}`;
  const tenants = [{ tenantId, roleIds: [roleId, roleId], isDefault: true }];
  const changes: Record<string, Change> = {
    "names and applications": () =>
      systemAdmin.put(userPath(first), { firstName: "Renamed", appIds: ["crm"] }),
    "their own profile": () => first.put("/api/v1/auth/me", { lastName: "Own" }),
    "active as before": () => inside.post(`${user}/activate`),
    "the same links and roles": () => systemAdmin.put(userPath(first), { tenants }),
    "the same roles": () => inside.put(`${user}/roles`, { roleIds: [roleId] }),
    "the same permissions": () => inside.put(rolePath(first), { permissionIds: permissionsOf }),
    "a permission the role has": () => inside.post(`${rolePath(first)}/permissions/${permissionsOf[0]}`),
    "another name of the role": () => inside.put(rolePath(first), { name: "Readers" }),
    "a role nobody holds": () =>
      inside.post("/api/v1/roles", { name: "Unheld", permissionIds: permissionsOf }),
    "that role with less": async () => await inside.put(await unheld(), { permissionIds: [] }),
    "that role deleted": async () => await inside.delete(await unheld()),
    "permissions imported": () => keeper.post("/api/v1/permissions/import?upsert=true", { permissions }),
    "a permission described": async () => await keeper.put(await permission(), { description: "Reads" }),
    "a permission deleted that no role carries": async () => await keeper.delete(await permission()),
    "a tenant that enters a group": () => systemAdmin.put(tenantPath(first), { parentTenantId: group }),
    "a tenant renamed and limited": () =>
      systemAdmin.put(tenantPath(first), { name: crypto.randomUUID(), maxUsers: 50 }),
  };
  for (const [name, change] of Object.entries(changes)) {
    await accepted(change());
    assert.equal(await stateOf(first), "200", name);
  }
  for (const other of [...Object.values(actors), inside]) assert.equal(await stateOf(other), "200");
});

Deno.test("deactivating, activating and deleting a tenant end the tokens of all users linked to it", async () => {
  const [off, gone, actors] = [await cast(), await cast(), await cast()];
  const everyone = ["first", "fellow", "same"];
  const deactivate = () => systemAdmin.put(tenantPath(off.first), { isActive: false });
  assert.deepEqual(await ended(off, deactivate), everyone);
  assert.deepEqual(await ended(gone, () => systemAdmin.delete(tenantPath(gone.first))), everyone);
  const { same, outsider } = actors;
  await sql`insert into user_tenants (user_id, tenant_id) values (${same.userId}, ${await t.tenant()})`;
  await sql`update tenants set is_active = false where id = ${same.tenantId}`;
  const global = await t.signedIn({ ...same, tenantId: null } as Actor);
  assert.equal(await stateOf(global), "200");
  await accepted(systemAdmin.put(tenantPath(same), { isActive: true }));
  assert.deepEqual([await stateOf(global), await stateOf(outsider)], [ENDED, "200"]);
});

/** Resolves when this many statements of the service wait for a lock. */
const blocked = (tx: Parameters<typeof countLockWaits>[0], count: number) =>
  until(() => countLockWaits(tx), (waiting) => waiting >= count);

Deno.test("a tenant switch that runs during a change gives no tokens", async () => {
  const actor = await t.actor();
  assert.equal(await stateOf(actor), "200");
  const { answer } = await sql.begin(async (tx) => {
    await tx`lock table user_tenants in access exclusive mode`;
    const answer = actor.post("/auth/switch-tenant", { tenantId: actor.tenantId });
    await blocked(tx, 1);
    await tx`update users set security_version = security_version + 1 where id = ${actor.userId}`;
    return { answer };
  });
  await refused(ENDED, answer);
});

Deno.test("a user who gets a role while its permissions change keeps no session from before the change", async () => {
  const { first } = await cast();
  const [admin, second] = [await administrator({ first }), await administrator({ first })];
  const joining = await person(t, { links: [first.tenantId!], role: "Visitor" });
  const early = await signIn(t, joining.email);
  const { link, change } = await sql.begin(async (tx) => {
    await tx`select from roles where id = ${first.roleId} for update`; // both requests wait for the role
    const change = admin.put(rolePath(first), { permissionIds: [] });
    await blocked(tx, 1);
    const link = second.put(`/api/v1/users/${joining.id}/roles`, { roleIds: [first.roleId] });
    await blocked(tx, 2);
    return { link, change };
  });
  await accepted(change);
  await accepted(link);
  assert.equal(await stateOf(bearer(t, early)), ENDED);
  assert.deepEqual((await accepted(signIn(t, joining.email))).permissions, []);
});
