import assert from "node:assert/strict";
import { type Actor, setup } from "../../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const newUuid = () => crypto.randomUUID();
const reader = await t.actor({ permissions: ["read:users"] });
const tenantId = reader.tenantId ?? "";
await sql`update users set first_name = 'Zoe', last_name = 'Reader', email = 'zoe@example.test' where id = ${reader.userId}`;

async function role(name: string, tenant = tenantId): Promise<string> {
  const id = newUuid();
  await sql`insert into roles (id, tenant_id, name) values (${id}, ${tenant}, ${name})`;
  return id;
}
async function user(o: {
  email: string;
  name?: [string, string];
  tenant?: string;
  roleId?: string;
  linkActive?: boolean;
  set?: Record<string, unknown>;
}): Promise<string> {
  const id = newUuid();
  const [first, last] = o.name ?? ["", ""];
  await sql`insert into users ${sql({ id, email: o.email, first_name: first, last_name: last, ...o.set })}`;
  const tenant = o.tenant ?? tenantId;
  await sql`insert into user_tenants (user_id, tenant_id, is_active) values (${id}, ${tenant}, ${
    o.linkActive ?? true
  })`;
  if (o.roleId) await sql`insert into user_tenant_roles values (${id}, ${tenant}, ${o.roleId})`;
  return id;
}

const editor = await role("Editor");
const other = await t.tenant();
const past = new Date(Date.now() - 60_000);
const future = new Date(Date.now() + 3_600_000);
const ids = {
  ana: await user({ email: "ana@example.test", name: ["Ana", "Ünal"], roleId: editor }),
  bob: await user({ email: "Bob_100%@example.test", name: ["Bob", "O'Neil"], set: { is_active: false } }),
  joao: await user({
    email: "joao@example.test",
    name: ["João", "Conceição"],
    set: { lockout_expires_at: future },
  }),
  old: await user({
    email: "old@example.test",
    name: ["Old", "Lock"],
    set: { lockout_expires_at: past, last_login_at: past },
  }),
  gone: await user({ email: "gone@example.test", name: ["Gone", "Away"], set: { deleted_at: past } }),
  paused: await user({ email: "paused@example.test", name: ["Paused", "Link"], linkActive: false }),
  foreign: await user({
    email: "ana.foreign@example.test",
    name: ["Ana", "Foreign"],
    tenant: other,
    roleId: await role("Editor", other),
  }),
};
const nameOf = new Map([...Object.entries(ids).map(([name, id]) => [id, name] as const), [
  reader.userId,
  "reader",
]]);

const page = async (query: string, by: Actor = reader, path = "/api/v1/users") => {
  const { status, body } = await by.get(`${path}?${query}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};
const names = async (query: string, by?: Actor, path?: string) =>
  (await page(query, by, path)).items.map((item: { id: string }) => nameOf.get(item.id) ?? "?");
const known = (list: string[]) => list.filter((name) => name !== "?").sort();

Deno.test("the list contains the tenant's users with deactivated links; deleted users on request", async () => {
  assert.deepEqual((await names("")).sort(), ["ana", "bob", "joao", "old", "paused", "reader"]);
  assert.deepEqual((await names("includeDeleted=true")).sort(), [
    "ana",
    "bob",
    "gone",
    "joao",
    "old",
    "paused",
    "reader",
  ]);
  const deletions = [
    ...(await page("includeDeleted=true")).items,
    ...(await page(`includeDeleted=true&tenantId=${tenantId}`, t.systemAdmin, "/api/v1/admin/users")).items,
  ].map(({ id, deletedAt }) => [id === ids.gone, deletedAt]);
  assert.equal(deletions.length, 14);
  for (const [isGone, at] of deletions) assert.equal(at, isGone ? past.toISOString() : null);
});

Deno.test("filters apply before counting", async () => {
  const cases: [string, string[]][] = [
    ["isActive=false", ["bob"]],
    ["isActive=true", ["ana", "joao", "old", "paused", "reader"]],
    ["isLockedOut=true", ["joao"]],
    ["isLockedOut=false", ["ana", "bob", "old", "paused", "reader"]],
    ["isLockedOut=false&isActive=TRUE", ["ana", "old", "paused", "reader"]],
    ["roleName=editor", ["ana"]],
    ["roleName=Nobody", []],
    ["roleName=Editor&isActive=false", []],
  ];
  for (const [query, expected] of cases) {
    const body = await page(`${query}&pageSize=1`);
    assert.equal(body.totalCount, expected.length, query);
    assert.equal(body.totalPages, expected.length, query);
    assert.deepEqual((await names(query)).sort(), expected, query);
  }
});

Deno.test("a locked user is marked; an expired lock does not count, but its time is shown", async () => {
  const { items } = await page("sortBy=email");
  const of = (id: string) => items.find((item: { id: string }) => item.id === id);
  assert.deepEqual([of(ids.joao).isLockedOut, of(ids.joao).lockoutExpiresAt], [true, future.toISOString()]);
  assert.deepEqual([of(ids.old).isLockedOut, of(ids.old).lockoutExpiresAt], [false, past.toISOString()]);
  assert.deepEqual([of(ids.ana).isLockedOut, of(ids.ana).lockoutExpiresAt], [false, null]);
  assert.deepEqual(of(ids.ana).roles, ["Editor"]);
});

Deno.test("search matches parts of email and names without case and accents, and treats wildcards as text", async () => {
  const cases: [string, string[]][] = [
    ["ANA", ["ana"]],
    ["unal", ["ana"]],
    ["ünal", ["ana"]],
    ["joao conceicao", ["joao"]],
    ["CONCEIÇÃO", ["joao"]],
    ["o'neil", ["bob"]],
    ["b_1", ["bob"]],
    ["b_0", []],
    ["100%", ["bob"]],
    ["%", ["bob"]],
    ["_", ["bob"]],
    ["％", ["bob"]],
    ["\\", []],
    [" zoe ", ["reader"]],
    ["' or 1=1 --", []],
    ["😀", []],
  ];
  for (const [search, expected] of cases) {
    const body = await page(`search=${encodeURIComponent(search)}`);
    assert.deepEqual(body.items.map((item: { id: string }) => nameOf.get(item.id)).sort(), expected, search);
    assert.equal(body.totalCount, expected.length, search);
  }
  assert.equal((await page("search=%20")).totalCount, 6);
});

Deno.test("lists can be sorted in both directions by every sort field", async () => {
  const ascending: Record<string, string[]> = {
    email: ["ana", "bob", "joao", "old", "paused", "reader"],
    firstName: ["ana", "bob", "joao", "old", "paused", "reader"],
    lastName: ["joao", "paused", "old", "bob", "reader", "ana"],
  };
  for (const [sortBy, expected] of Object.entries(ascending)) {
    assert.deepEqual(await names(`sortBy=${sortBy}`), expected, sortBy);
    assert.deepEqual(
      await names(`sortBy=${sortBy.toUpperCase()}&sortDirection=descending`),
      expected.toReversed(),
    );
  }
  assert.equal((await names("sortBy=lastLoginAt")).at(-1), "old");
  assert.equal((await names("sortBy=lastLoginAt&sortDirection=Descending"))[0], "old");
  assert.equal((await names("sortBy=createdAt")).length, 6);
});

Deno.test("all pages together are the whole list without repeats, for every sort, also backwards", async () => {
  for (const sortBy of ["email", "firstName", "lastName", "createdAt", "lastLoginAt"]) {
    for (const sortDirection of ["Ascending", "Descending"]) {
      const query = `sortBy=${sortBy}&sortDirection=${sortDirection}`;
      const pages = [];
      for (let at = 1; at <= 3; at++) pages.push(...await names(`${query}&pageSize=2&page=${at}`));
      assert.deepEqual(pages, await names(query));
    }
  }
});

Deno.test("the counts of a page follow from the total", async () => {
  const { items: _, ...second } = await page("page=2&pageSize=4");
  assert.deepEqual(second, {
    totalCount: 6,
    pageNumber: 2,
    pageSize: 4,
    totalPages: 2,
    hasNext: false,
    hasPrevious: true,
  });
  const beyond = await page("page=9&pageSize=4");
  assert.deepEqual([beyond.items, beyond.hasNext, beyond.hasPrevious], [[], false, true]);
  const none = await page("roleName=Nobody");
  assert.deepEqual([none.items, none.totalCount, none.totalPages, none.hasPrevious], [[], 0, 0, false]);
});

Deno.test("invalid query values are rejected, unknown parameters ignored", async () => {
  const wrong = [
    "page=0",
    "page=-1",
    "page=x",
    "page=1e3",
    "pageSize=0",
    "pageSize=101",
    "sortBy=password",
    "sortDirection=up",
    "isActive=maybe",
    "isLockedOut=1",
    "includeDeleted=no",
    `search=${"x".repeat(201)}`,
    "search=%00",
  ];
  for (const query of wrong) {
    const { status, body } = await reader.get(`/api/v1/users?${query}`);
    assert.equal(status, 400, query);
    assert.equal(body.code, "VALIDATION_ERROR", query);
  }
  const { body } = await reader.get("/api/v1/users?sortBy=password");
  assert.match(body.errors[0], /email, firstName, lastName, createdAt, lastLoginAt/);
  assert.equal((await page("colour=blue&isActive=")).totalCount, 6);
});

Deno.test("the admin list covers all tenants, or the one in tenantId", async () => {
  const admin = "/api/v1/admin/users";
  assert.deepEqual(known(await names("search=ana", t.systemAdmin, admin)), ["ana", "foreign"]);
  assert.deepEqual(await names(`tenantId=${other}`, t.systemAdmin, admin), ["foreign"]);
  assert.deepEqual(await names(`tenantId=${newUuid()}`, t.systemAdmin, admin), []);
  const [ana] = (await page("search=ana%40example", t.systemAdmin, admin)).items;
  assert.deepEqual(ana.tenants, [{
    tenantId,
    roleIds: [editor],
    isDefault: false,
    isActive: true,
    externalId: null,
  }]);
  assert.ok(!("roles" in ana));
});

Deno.test("roleName filters by the token's tenant; on the admin list by tenantId or every active tenant", async () => {
  const admin = "/api/v1/admin/users";
  const holders = (query: string) => names(`roleName=EDITOR${query}`, t.systemAdmin, admin);
  assert.deepEqual(await names("roleName=Editor"), ["ana"]);
  assert.deepEqual((await holders("")).sort(), ["ana", "foreign"]);
  assert.deepEqual(await holders(`&tenantId=${other}`), ["foreign"]);
  await sql`insert into user_tenants (user_id, tenant_id) values (${ids.ana}, ${other})`;
  assert.deepEqual(await holders(`&tenantId=${other}`), ["foreign"], "a role held elsewhere does not count");
  await sql`update tenants set is_active = false where id = ${other}`;
  assert.deepEqual(await holders(""), ["ana"]);
  assert.deepEqual(await holders(`&tenantId=${other}`), ["foreign"]);
});

Deno.test("large lists have the same pages from both ends, and changes count at once", async () => {
  const tenant = await t.tenant();
  const by = await t.actor({ tenantId: tenant, permissions: ["read:users", "create:users", "delete:users"] });
  await sql`insert into users (id, email, first_name, is_active)
    select gen_random_uuid(), 'bulk-' || n || '@example.test', 'N' || n % 7, n % 10 > 0
    from generate_series(1, 12000) n`;
  await sql`analyze users`; // connections keep plans made while the table was small
  await sql`insert into user_tenants (user_id, tenant_id)
    select id, ${tenant} from users where email like 'bulk-%'`;
  await sql`analyze user_tenants`;
  for (const query of ["sortBy=firstName", "sortBy=email&isActive=true", "search=bulk&sortBy=createdAt"]) {
    const { totalCount } = await page(query, by);
    const last = Math.ceil(totalCount / 100);
    const items = async (at: number, direction: string) =>
      (await page(`${query}&pageSize=100&page=${at}&sortDirection=${direction}`, by)).items.map((
        item: { id: string },
      ) => item.id);
    const forwards = [...await items(last - 1, "Ascending"), ...await items(last, "Ascending")];
    const backwards = [...await items(1, "Descending"), ...await items(2, "Descending")];
    assert.deepEqual(forwards, backwards.slice(0, forwards.length).toReversed(), query);
  }
  const before = (await page("isActive=true", by)).totalCount;
  const created = await by.post("/api/v1/users", {
    email: "one-more@example.test",
    password: "correct horse battery",
  });
  assert.equal((await page("isActive=true", by)).totalCount, before + 1);
  await by.delete(`/api/v1/users/${created.body.id}`);
  assert.equal((await page("isActive=true", by)).totalCount, before);
});
