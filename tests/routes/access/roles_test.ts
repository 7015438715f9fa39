import assert from "node:assert/strict";
import { newId } from "../../../domain/shared/ids.ts";
import type { HttpAnswer, HttpClient } from "../../support/http.ts";
import { type Actor, setup } from "../../support/setup.ts";

const t = await setup();
Deno.test.afterAll(() => t.stop());

const { sql } = t.steward.platform;
const ROLES = "/api/v1/roles";
const ADMINISTERS = ["read:roles", "create:roles", "update:roles", "delete:roles"];
const admin = await t.actor({ permissions: ADMINISTERS });
const stranger = await t.actor({ permissions: ADMINISTERS });
const names = ({ body }: HttpAnswer) => body.items.map((item: { name: string }) => item.name);
const codes = ({ body }: HttpAnswer) => body.permissions.map((item: { code: string }) => item.code);

function refused(answer: HttpAnswer, status: number, code: string): void {
  assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body));
}

const create = (body: Record<string, unknown>, by: HttpClient = admin) => by.post(ROLES, body);
async function newRole(name: string, permissionIds: string[] = [], by: HttpClient = admin): Promise<string> {
  const { status, body } = await create({ name, permissionIds }, by);
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

const permissionIds = new Map(
  (await sql<{ code: string; id: string }[]>`select code, id from permissions where tenant_id is null`)
    .map(({ code, id }) => [code, id]),
);
const permission = (code: string): string => permissionIds.get(code) ?? assert.fail(`no ${code}`);

async function systemRole(name: string, tenantId = admin.tenantId): Promise<string> {
  const [role] =
    await sql`select id from roles where tenant_id = ${tenantId} and name = ${name} and is_system`;
  return role?.id;
}

/** A permission that belongs to the tenant of `owner`. */
async function ownPermission(owner: Actor, code: string): Promise<string> {
  const id = newId();
  await sql`insert into permissions (id, tenant_id, code, category) values (${id}, ${owner.tenantId}, ${code}, 'Own')`;
  return id;
}

/** A signed-in visitor who also holds `roleId` in the tenant of `owner`. */
async function holder(owner: Actor, roleId: string): Promise<Actor> {
  const actor = await t.actor({ tenantId: owner.tenantId ?? "", role: "Visitor" });
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    values (${actor.userId}, ${owner.tenantId}, ${roleId})`;
  return actor;
}
const isSignedIn = async (caller: HttpClient) => (await caller.get("/auth/me")).status === 200;

async function auditOf(targetId: string): Promise<string[]> {
  const rows = await sql<{ action: string }[]>`
    select action from audit_log where target_id = ${targetId} order by id`;
  return rows.map((row) => row.action);
}

Deno.test("a role is created with permissions, found at its Location, and audited", async () => {
  const answer = await create({
    name: " Clerk ",
    description: "Files things",
    permissionIds: [
      permission("read:files"),
      permission("read:users"),
      permission("read:files").toUpperCase(),
    ],
  });
  assert.equal(answer.status, 201);
  const { id, createdAt, updatedAt, ...rest } = answer.body;
  assert.deepEqual(rest, {
    tenantId: admin.tenantId,
    name: "Clerk",
    description: "Files things",
    isSystemRole: false,
    permissions: [
      { id: permission("read:files"), code: "read:files" },
      { id: permission("read:users"), code: "read:users" },
    ],
  });
  const read = await admin.get(answer.headers.get("location") ?? "");
  assert.deepEqual(read.body, {
    id,
    tenantId: admin.tenantId,
    name: "Clerk",
    description: "Files things",
    isSystemRole: false,
    createdAt,
    updatedAt,
    userCount: 0,
    permissionCount: 2,
  });
  assert.equal(read.headers.get("etag"), '"1"');
  assert.deepEqual(await auditOf(id), ["role.create"]);
});

Deno.test("a body that does not fit is refused", async () => {
  for (
    const body of [
      {},
      { name: "" },
      { name: 5 },
      { name: "x".repeat(101) },
      { name: "a\0" },
      { name: "x", description: "x".repeat(501) },
      { name: "x", permissionIds: "all" },
      { name: "x", permissionIds: ["nope"] },
      [],
    ]
  ) refused(await admin.post(ROLES, body), 400, "VALIDATION_ERROR");
  refused(await create({ name: "x", permissionIds: [newId()] }), 404, "PERMISSION_NOT_FOUND");
});

Deno.test("a role name is unique in its tenant, in any letter case, catalog roles included", async () => {
  await newRole("Caixa");
  for (const name of ["CAIXA", "visitor"]) refused(await create({ name }), 409, "ROLE_ALREADY_EXISTS");
  assert.equal(
    (await create({ name: "Caixa" }, stranger)).status,
    201,
    "another tenant's names do not count",
  );
  const answers = await Promise.all(Array.from({ length: 10 }, () => create({ name: "Contested" })));
  assert.equal(answers.filter(({ status }) => status === 201).length, 1);
  const gone = await newRole("Passing");
  await admin.delete(`${ROLES}/${gone}`);
  await newRole("Passing");
});

Deno.test("permissionIds of a change: absent or null leave, an empty list takes all, others replace", async () => {
  const id = await newRole("Matrix", [permission("read:users")]);
  const put = (body: unknown, headers = {}) => admin.put(`${ROLES}/${id}`, body, headers);
  assert.deepEqual(codes(await put({ name: "Matrix 2" })), ["read:users"]);
  const nulls = await put({ name: null, permissionIds: null, description: "Kept" });
  assert.deepEqual([nulls.body.name, codes(nulls)], ["Matrix 2", ["read:users"]]);
  const replaced = await put({ permissionIds: [permission("read:roles"), permission("read:files")] });
  assert.deepEqual(codes(replaced), ["read:files", "read:roles"]);
  assert.equal(replaced.body.description, "Kept");
  assert.deepEqual(codes(await put({ permissionIds: [] })), []);
  assert.equal((await put({ description: null })).body.description, null);
  const { headers } = await put({});
  assert.equal(headers.get("etag"), '"6"', "five changes, and an empty one");
  refused(await put({ name: "Late" }, { "if-match": '"5"' }), 412, "PRECONDITION_FAILED");
  assert.equal((await put({ name: "In time" }, { "if-match": '"6"' })).status, 200);
  refused(await put({ name: "Visitor" }), 409, "ROLE_ALREADY_EXISTS");
  refused(await put({ permissionIds: [newId()] }), 404, "PERMISSION_NOT_FOUND");
  assert.equal((await auditOf(id)).length, 7);
});

Deno.test("a permission is assigned and revoked one at a time; repeating it changes nothing", async () => {
  const id = await newRole("Single steps");
  const path = `${ROLES}/${id}/permissions/${permission("read:files")}`;
  const assigned = await admin.post(path);
  assert.deepEqual([assigned.status, codes(assigned), assigned.headers.get("etag")], [
    200,
    ["read:files"],
    '"2"',
  ]);
  const user = await holder(admin, id);
  assert.equal((await admin.post(path)).headers.get("etag"), '"2"');
  assert.ok(await isSignedIn(user), "assigning what is assigned invalidates nobody");
  refused(await admin.delete(path, { "if-match": '"1"' }), 412, "PRECONDITION_FAILED");
  assert.deepEqual(codes(await admin.delete(path)), []);
  assert.ok(!await isSignedIn(user));
  assert.equal((await admin.delete(path)).headers.get("etag"), '"3"');
  refused(await admin.post(`${ROLES}/${id}/permissions/${newId()}`), 404, "PERMISSION_NOT_FOUND");
  refused(await admin.delete(`${ROLES}/${id}/permissions/${newId()}`), 404, "PERMISSION_NOT_FOUND");
  refused(
    await admin.post(`${ROLES}/${newId()}/permissions/${permission("read:files")}`),
    404,
    "ROLE_NOT_FOUND",
  );
  refused(await admin.post(`${ROLES}/x/permissions/y`), 400, "VALIDATION_ERROR");
});

Deno.test("catalog roles are never stripped, reconciled, renamed or deleted, but may be given more", async () => {
  const platform = await t.systemAdmin.get(`${ROLES}?isSystemRole=true`);
  assert.deepEqual(names(platform), ["Admin", "GroupAdmin", "SystemAdmin", "Visitor"]);
  const roles: [HttpClient, string, string][] = [
    [admin, await systemRole("Admin"), "read:users"],
    [admin, await systemRole("Visitor"), "read:users"],
    [admin, await systemRole("GroupAdmin"), "read:group-data"],
    [t.systemAdmin, await systemRole("SystemAdmin", t.platformTenantId), "admin:system"],
    [t.systemAdmin, await systemRole("Admin", t.platformTenantId), "read:users"],
  ];
  for (const [caller, id, carried] of roles) {
    for (
      const answer of [
        await caller.delete(`${ROLES}/${id}/permissions/${permission(carried)}`),
        await caller.delete(`${ROLES}/${id}/permissions/${permission("purge:files")}`),
        await caller.put(`${ROLES}/${id}`, { permissionIds: [] }),
        await caller.put(`${ROLES}/${id}`, { permissionIds: [permission(carried)] }),
        await caller.put(`${ROLES}/${id}`, { name: "Renamed" }),
        await caller.delete(`${ROLES}/${id}`),
      ]
    ) refused(answer, 409, "ROLE_SYSTEM_PROTECTED_CONFLICT");
  }
  const visitor = await systemRole("Visitor");
  const given = await admin.post(`${ROLES}/${visitor}/permissions/${permission("purge:files")}`);
  assert.ok(codes(given).includes("purge:files"));
});

Deno.test("platform-reach permissions are given only by who holds them; taking has no ceiling", async () => {
  for (const code of ["admin:system", "manage:all-users", "manage:all-tenants"]) {
    const id = await newRole(`Ceiling ${code}`);
    for (
      const answer of [
        await create({ name: `New ${code}`, permissionIds: [permission(code)] }),
        await admin.put(`${ROLES}/${id}`, { permissionIds: [permission("read:users"), permission(code)] }),
        await admin.post(`${ROLES}/${id}/permissions/${permission(code)}`),
        await admin.post(`${ROLES}/${await systemRole("Visitor")}/permissions/${permission(code)}`),
      ]
    ) refused(answer, 403, "ROLE_ASSIGNMENT_ESCALATION_BLOCKED");
    assert.equal((await admin.get(`${ROLES}/${id}`)).body.permissionCount, 0, "the whole call is blocked");

    const equal = await t.actor({ tenantId: admin.tenantId ?? "", permissions: ["update:roles", code] });
    assert.deepEqual(codes(await equal.post(`${ROLES}/${id}/permissions/${permission(code)}`)), [code]);
    const kept = await admin.put(`${ROLES}/${id}`, {
      permissionIds: [permission(code), permission("read:users")],
    });
    assert.deepEqual(codes(kept).length, 2, "keeping what the role has is no grant");
    assert.deepEqual(codes(await admin.delete(`${ROLES}/${id}/permissions/${permission(code)}`)), [
      "read:users",
    ]);
  }
  const users = await t.actor({
    tenantId: admin.tenantId ?? "",
    permissions: ["update:roles", "manage:all-users"],
  });
  const id = await newRole("Not quite");
  refused(
    await users.post(`${ROLES}/${id}/permissions/${permission("manage:all-tenants")}`),
    403,
    "ROLE_ASSIGNMENT_ESCALATION_BLOCKED",
  );
  assert.equal((await admin.post(`${ROLES}/${id}/permissions/${permission("purge:files")}`)).status, 200);
});

Deno.test("a tenant's own permission goes into its own roles only", async () => {
  const own = await ownPermission(admin, "approve:loans");
  const foreign = await ownPermission(stranger, "approve:loans");
  const id = await newRole("Lender", [own]);
  refused(await create({ name: "Thief", permissionIds: [foreign] }), 404, "PERMISSION_NOT_FOUND");
  refused(await admin.post(`${ROLES}/${id}/permissions/${foreign}`), 404, "PERMISSION_NOT_FOUND");
  refused(await admin.put(`${ROLES}/${id}`, { permissionIds: [own, foreign] }), 404, "PERMISSION_NOT_FOUND");
});

Deno.test("roles of another tenant are the same as none, everywhere", async () => {
  const id = await newRole("Private", [permission("read:users")]);
  const grant = `permissions/${permission("read:files")}`;
  const strip = (
    { status, body: { traceId: _, instance: __, detail, ...rest } }: HttpAnswer,
    named: string,
  ) => ({
    status,
    detail: detail.replace(named, "ID"),
    ...rest,
  });
  const probes = (role: string) => [
    () => stranger.get(`${ROLES}/${role}`),
    () => stranger.put(`${ROLES}/${role}`, { name: "Taken" }),
    () => stranger.delete(`${ROLES}/${role}`),
    () => stranger.post(`${ROLES}/${role}/${grant}`),
    () => stranger.delete(`${ROLES}/${role}/${grant}`),
  ];
  const none = newId();
  for (const [index, probe] of probes(id).entries()) {
    const answer = await probe();
    refused(answer, 404, "ROLE_NOT_FOUND");
    assert.deepEqual(strip(answer, id), strip(await probes(none)[index]?.() as HttpAnswer, none));
  }
  assert.equal((await stranger.get(`${ROLES}/lookup?ids=${id}`)).body.totalCount, 0);
  assert.ok(!names(await stranger.get(ROLES)).includes("Private"));
});

Deno.test("a role someone holds is not deleted; a deleted user holds nothing", async () => {
  const id = await newRole("Held", [permission("read:users")]);
  const user = await holder(admin, id);
  refused(await admin.delete(`${ROLES}/${id}`), 409, "ROLE_ASSIGNED_CONFLICT");
  await sql`update user_tenants set is_active = false where user_id = ${user.userId}`;
  refused(await admin.delete(`${ROLES}/${id}`), 409, "ROLE_ASSIGNED_CONFLICT");
  assert.equal((await admin.get(`${ROLES}/${id}`)).body.userCount, 1);
  await sql`update users set deleted_at = now() where id = ${user.userId}`;
  assert.equal((await admin.get(`${ROLES}/${id}`)).body.userCount, 0, "nor do they count");
  refused(await admin.delete(`${ROLES}/${id}`, { "if-match": '"9"' }), 412, "PRECONDITION_FAILED");
  const deleted = await admin.delete(`${ROLES}/${id}`);
  assert.deepEqual([deleted.status, deleted.body], [200, ""]);
  refused(await admin.get(`${ROLES}/${id}`), 404, "ROLE_NOT_FOUND");
  refused(await admin.delete(`${ROLES}/${id}`), 404, "ROLE_NOT_FOUND");
  assert.ok(!names(await admin.get(`${ROLES}?search=held`)).includes("Held"));
  assert.deepEqual(names(await admin.get(`${ROLES}?search=held&includeDeleted=true`)), ["Held"]);
});

Deno.test("a role given while it is deleted is either given or deleted, never both", async () => {
  for (let round = 0; round < 8; round++) {
    const id = await newRole(`Racing ${round}`);
    const [given, deleted] = await Promise.allSettled([holder(admin, id), admin.delete(`${ROLES}/${id}`)]);
    assert.equal(deleted.status, "fulfilled");
    const isDeleted = deleted.status === "fulfilled" && deleted.value.status === 200;
    assert.notEqual(given.status === "fulfilled", isDeleted);
  }
});

Deno.test("a change of permissions ends the tokens of the role's holders at once, and no others", async () => {
  const id = await newRole("Changing", [permission("read:users")]);
  const others = [await holder(admin, await newRole("Unchanging")), admin, stranger, t.systemAdmin];
  const changes: [string, () => Promise<HttpAnswer>][] = [
    ["assign", () => admin.post(`${ROLES}/${id}/permissions/${permission("read:files")}`)],
    ["revoke", () => admin.delete(`${ROLES}/${id}/permissions/${permission("read:files")}`)],
    ["replace", () => admin.put(`${ROLES}/${id}`, { permissionIds: [permission("read:roles")] })],
    ["clear", () => admin.put(`${ROLES}/${id}`, { permissionIds: [] })],
  ];
  for (const [name, change] of changes) {
    const user = await holder(admin, id);
    assert.ok(await isSignedIn(user));
    assert.equal((await change()).status, 200);
    assert.equal((await user.get("/auth/me")).body.code, "SESSION_INVALIDATED", name);
    for (const other of others) assert.ok(await isSignedIn(other), `${name} spares everyone else`);
  }
  const user = await holder(admin, id);
  await admin.put(`${ROLES}/${id}`, { name: "Renamed only", permissionIds: [] });
  assert.ok(await isSignedIn(user), "a new name changes no rights");
});

Deno.test("simultaneous changes of one role all count, and its version counts them", async () => {
  const id = await newRole("Busy");
  const given = [
    "read:users",
    "read:roles",
    "read:files",
    "upload:files",
    "send:notifications",
    "read:tenants",
  ];
  const answers = await Promise.all(
    given.map((code) => admin.post(`${ROLES}/${id}/permissions/${permission(code)}`)),
  );
  assert.ok(answers.every(({ status }) => status === 200));
  const { body, headers } = await admin.get(`${ROLES}/${id}`);
  assert.deepEqual([body.permissionCount, headers.get("etag")], [6, '"7"']);
  const user = await holder(admin, id);
  const twin = await newRole("Busy twin");
  await sql`insert into user_tenant_roles values (${user.userId}, ${admin.tenantId}, ${twin})`;
  const mixed = await Promise.all(
    [id, twin, id, twin].map((role, index) =>
      index < 2
        ? admin.put(`${ROLES}/${role}`, { permissionIds: [permission("read:users")] })
        : admin.post(`${ROLES}/${role}/permissions/${permission("purge:files")}`)
    ),
  );
  assert.ok(mixed.every(({ status }) => status === 200));
});

Deno.test("changing a role of many holders costs about as much as the one statement it needs", async () => {
  const id = await newRole("Everybody");
  const { tenantId } = admin;
  await sql`with made as (
      insert into users (id, email) select gen_random_uuid(), 'many-' || n || '@example.test'
      from generate_series(1, 2000) n returning id)
    insert into user_tenants (user_id, tenant_id) select id, ${tenantId} from made`;
  await sql`insert into user_tenant_roles (user_id, tenant_id, role_id)
    select l.user_id, l.tenant_id, ${id} from user_tenants l join users u on u.id = l.user_id
    where l.tenant_id = ${tenantId} and u.email like 'many-%'`;
  const bare: number[] = [];
  const whole: number[] = [];
  for (const code of ["read:users", "read:files", "upload:files"]) {
    const started = performance.now();
    await sql`update users set version = version + 1 where email like 'many-%'`;
    const between = performance.now();
    assert.equal((await admin.post(`${ROLES}/${id}/permissions/${permission(code)}`)).status, 200);
    bare.push(between - started);
    whole.push(performance.now() - between);
  }
  assert.ok(Math.min(...whole) < 4 * Math.min(...bare) + 100, `bare ${bare}, whole ${whole} ms`);
  const [versions] =
    await sql`select count(*) as n from users where email like 'many-%' and security_version = 4`;
  assert.equal(versions?.n, 2_000);
  assert.equal((await admin.get(`${ROLES}/${id}`)).body.userCount, 2_000);
});

Deno.test("the last role that gives admin:system keeps it", async () => {
  const heir = await t.actor({ permissions: ["admin:system"] });
  const others =
    await sql`update users set is_active = false where id <> ${heir.userId} and is_active returning id`;
  try {
    for (
      const answer of [
        await heir.delete(`${ROLES}/${heir.roleId}/permissions/${permission("admin:system")}`),
        await heir.put(`${ROLES}/${heir.roleId}`, { permissionIds: [] }),
      ]
    ) refused(answer, 409, "LAST_SYSTEM_ADMIN_CONFLICT");
    assert.ok(await isSignedIn(heir), "nothing was changed");
  } finally {
    await sql`update users set is_active = true where id in ${sql(others.map((row) => row.id))}`;
    t.steward.platform.rights.forget("everyone");
  }
});

Deno.test("lists filter before they count, and sort by name, making and holders", async () => {
  const owner = await t.actor({ permissions: ADMINISTERS });
  const one = await newRole("Ação", [], owner);
  const two = await newRole("beta 100%", [permission("read:users")], owner);
  for (const role of [one, one, two]) await holder(owner, role);
  const list = (query: string) => owner.get(`${ROLES}?isSystemRole=false&${query}`);
  const own = `Role ${owner.roleId}`;
  assert.deepEqual(names(await list("sortBy=createdAt")), [own, "Ação", "beta 100%"]);
  const byCount = await list("sortBy=userCount&sortDirection=Descending&pageSize=1");
  assert.deepEqual([names(byCount), byCount.body.items[0].userCount, byCount.body.totalCount], [
    ["Ação"],
    2,
    3,
  ]);
  assert.deepEqual(
    names(await list("sortBy=userCount&sortDirection=Descending&pageSize=1&page=2")).length,
    1,
  );
  assert.deepEqual(names(await list("search=ACAO")), ["Ação"]);
  assert.deepEqual(names(await list("search=0%25")), ["beta 100%"]);
  assert.equal((await list("search=nothing")).body.totalPages, 0);
  assert.equal((await owner.get(`${ROLES}?isSystemRole=TRUE`)).body.totalCount, 3);
  assert.equal((await owner.get(ROLES)).body.totalCount, 6);
  for (const query of ["sortBy=permissionCount", "isSystemRole=1", "pageSize=101", "page=-1"]) {
    refused(await owner.get(`${ROLES}?${query}`), 400, "VALIDATION_ERROR");
  }
  assert.deepEqual((await owner.get(`${ROLES}/summary`)).body, {
    totalRoles: 6,
    systemRoles: 3,
    customRoles: 3,
    rolesWithoutUsers: 2,
    usersWithRoles: 4,
  });
  const lookup = await owner.get(`${ROLES}/lookup?includeSystemRoles=false&search=beta`);
  assert.deepEqual(lookup.body.items, [{ id: two, name: "beta 100%", description: null }]);
  assert.equal((await owner.get(`${ROLES}/lookup?ids=${one},${two}&ids=${newId()}`)).body.totalCount, 2);
  assert.equal((await owner.get(`${ROLES}/lookup`)).body.totalCount, 6);
  for (const query of ["pageSize=51", `ids=${Array.from({ length: 51 }, newId)}`, "includeSystemRoles=x"]) {
    refused(await owner.get(`${ROLES}/lookup?${query}`), 400, "VALIDATION_ERROR");
  }
});

Deno.test("every route refuses a caller without its permission, and no caller at all", async () => {
  const { tenantId } = admin;
  const id = await newRole("Guarded");
  const grant = `${ROLES}/${id}/permissions/${permission("read:users")}`;
  const routes: [string, (caller: HttpClient) => Promise<HttpAnswer>][] = [
    ["read:roles", (c) => c.get(ROLES)],
    ["read:roles", (c) => c.get(`${ROLES}/summary`)],
    ["read:roles", (c) => c.get(`${ROLES}/lookup`)],
    ["read:roles", (c) => c.get(`${ROLES}/${id}`)],
    ["create:roles", (c) => c.post(ROLES, {})],
    ["update:roles", (c) => c.put(`${ROLES}/${id}`, {})],
    ["delete:roles", (c) => c.delete(`${ROLES}/${id}`)],
    ["update:roles", (c) => c.post(grant)],
    ["update:roles", (c) => c.delete(grant)],
  ];
  for (const needed of new Set(routes.map(([code]) => code))) {
    const others = ADMINISTERS.filter((code) => code !== needed);
    const caller = await t.actor({ tenantId: tenantId ?? "", permissions: [...others, "manage:all-users"] });
    for (const [, call] of routes.filter(([code]) => code === needed)) {
      refused(await call(caller), 403, "MISSING_PERMISSION");
      refused(await call(t.nobody), 401, "TOKEN_MISSING");
    }
  }
});
