import assert from "node:assert/strict";
import { permissionsNow } from "../../../../domain/access/users/bulk/importer.ts";
import { transact } from "../../../../infra/postgres/postgres.ts";
import { type Actor, setupShared } from "../../../support/setup.ts";
import { auditOf, isSignedIn, refused } from "../answers.ts";
import { ageSignIns } from "../../auth/factors.ts";
import { createUser } from "../users.ts";
import { BCRYPT, counts, IMPORTER, Importing, newEmail } from "./importing.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const { sql } = t.steward.platform;
const importing = new Importing(t);
const admin = await t.actor({ permissions: IMPORTER });
const tenantId = admin.tenantId ?? "";
const byEmail = async (email: string, by = admin) =>
  (await by.get(`/api/v1/users/by-email/${encodeURIComponent(email)}`)).body;

async function role(name: string, permissions: string[] = [], tenant = tenantId): Promise<string> {
  const id = crypto.randomUUID();
  await sql`insert into roles (id, tenant_id, name) values (${id}, ${tenant}, ${name})`;
  await sql`insert into role_permissions (role_id, permission_id)
    select ${id}, id from permissions where tenant_id is null and code = any(${permissions}::text[])`;
  return id;
}
const reader = await role("Reader of users", ["read:users"]);
await role("Deleter of roles", ["delete:roles"]);

Deno.test("a CSV file creates users with all columns, who sign in with their old passwords", async () => {
  const email = newEmail();
  const externalId = crypto.randomUUID();
  const csv =
    `\ufeffemail,firstName,lastName,phoneNumber,externalId,isActive,roles,passwordHash,metadata\r\n` +
    `${email},"Ana ""A""",Ünal,+351 1,${externalId},TRUE,reader OF users;${reader},${BCRYPT},"{""tier"":""gold""}"\r\n` +
    `${newEmail()},,,,,no,,,\r\n`;
  const done = await importing.run(admin, csv);
  assert.deepEqual([done.status, done.total, done.error], ["Completed", 2, null]);
  assert.deepEqual(counts(done), { created: 2, updated: 0, unchanged: 0, failed: 0 });
  const user = await byEmail(email);
  assert.deepEqual(
    [
      user.firstName,
      user.lastName,
      user.phoneNumber,
      user.externalId,
      user.isActive,
      user.roles,
      user.metadata,
    ],
    ['Ana "A"', "Ünal", "+351 1", externalId, true, ["Reader of users"], { tier: "gold" }],
  );
  const login = await t.nobody.post("/auth/login", { email, password: "imported password" });
  assert.equal(login.status, 200, JSON.stringify(login.body));
  assert.equal(login.body.tenant.id, tenantId);
  assert.deepEqual(await auditOf(t, user.id), ["user.create"]);
  const [link] = await sql`select is_default from user_tenants where user_id = ${user.id}`;
  assert.equal(link?.isDefault, true);
});

Deno.test("a JSON file creates the same users", async () => {
  const email = newEmail();
  const rows = [
    {
      email,
      firstName: "Eva",
      isActive: true,
      roles: ["Reader of users"],
      metadata: { a: [1] },
      phoneNumber: null,
    },
    { email: newEmail(), roles: `${reader};` },
  ];
  const done = await importing.run(admin, JSON.stringify(rows, null, 1), { contentType: "text/plain" });
  assert.deepEqual(counts(done), { created: 2, updated: 0, unchanged: 0, failed: 0 });
  const { roles, metadata } = await byEmail(email);
  assert.deepEqual([roles, metadata], [["Reader of users"], { a: [1] }]);
});

Deno.test("users are found by external id, else by email; absent and empty values change nothing", async () => {
  const [first, second] = [newEmail(), newEmail()];
  const externalId = crypto.randomUUID();
  const ids = [
    await createUser(admin, { email: first, firstName: "Old", tenants: [{ tenantId, externalId }] }),
    await createUser(admin, { email: second, firstName: "Old", lastName: "Kept", metadata: { a: 1 } }),
  ];
  const csv = `email,externalId,firstName,lastName,roles,metadata,passwordHash\n` +
    `,${externalId},New,,,,\n${second.toUpperCase()},e-${externalId},New,,Reader of users,,${BCRYPT}\n`;
  const done = await importing.run(admin, csv);
  assert.deepEqual(counts(done), { created: 0, updated: 2, unchanged: 0, failed: 0 });
  assert.equal((await byEmail(first)).firstName, "New");
  const { firstName, lastName, metadata, roles, externalId: given } = await byEmail(second);
  assert.deepEqual([firstName, lastName, metadata, roles, given], [
    "New",
    "Kept",
    { a: 1 },
    ["Reader of users"],
    `e-${externalId}`,
  ]);
  const login = await t.nobody.post("/auth/login", { email: second, password: "imported password" });
  refused(login, 401, "CREDENTIALS_INVALID_UNAUTHORIZED");
  assert.deepEqual(await importing.result(admin, done), [
    ["1", first, "Updated", ""],
    ["2", second, "Updated", "passwordHash: not changed, because the user exists"],
  ]);
  for (const id of ids) assert.deepEqual(await auditOf(t, id), ["user.create", "user.update"]);
  assert.deepEqual(counts(await importing.run(admin, csv)), {
    created: 0,
    updated: 0,
    unchanged: 2,
    failed: 0,
  });
});

Deno.test("sessions end only if rights changed", async () => {
  const [renamed, granted, off] = [
    await t.actor({ tenantId }),
    await t.actor({ tenantId }),
    await t.actor({ tenantId }),
  ];
  const csv = `email,firstName,externalId,roles,isActive\n${renamed.email},New,${crypto.randomUUID()},,\n` +
    `${granted.email},,,Reader of users,\n${off.email},,,,false\n`;
  assert.equal((await importing.run(admin, csv)).updated, 3);
  assert.deepEqual(await Promise.all([renamed, granted, off].map(isSignedIn)), [true, false, false]);
  const events = await sql`select data ->> 'userId' as id from events where type = 'user.access-changed'
    and data ->> 'userId' = any(${[renamed.userId, granted.userId, off.userId]}::text[]) order by id`;
  assert.deepEqual(events.map(({ id }) => id), [granted.userId, off.userId].sort());
});

Deno.test("a bad row fails alone, with the reason", async () => {
  const existing = newEmail();
  const outsider = await t.actor();
  const shared = await t.actor();
  await sql`insert into user_tenants (user_id, tenant_id) values (${shared.userId}, ${tenantId})`;
  const deleted = newEmail();
  await sql`update users set deleted_at = now() where id = ${await createUser(admin, { email: deleted })}`;
  const externalId = crypto.randomUUID();
  await createUser(admin, { email: existing, tenants: [{ tenantId, externalId }] });
  const good = newEmail();
  const rows: [row: string, why: RegExp][] = [
    [`no-address,,,,,`, /^email: expected an email address/],
    [`,A,,,,`, /^email: expected an email or an externalId/],
    [`${newEmail()},${"x".repeat(101)},,,,`, /^firstName: /],
    [`${newEmail()},,Nobody's role,,,`, /^ROLE_NOT_FOUND: .* no role "Nobody's role"/],
    [`${newEmail()},,Deleter of roles,,,`, /^ROLE_ASSIGNMENT_ESCALATION_BLOCKED: .* delete:roles$/],
    [`${outsider.email},,,,,`, /^USER_ALREADY_EXISTS: .* invite/],
    [`${deleted},,,,,`, /^USER_ALREADY_EXISTS: .* invite/],
    [`${shared.email},Changed,,,,`, /^CROSS_TENANT_FORBIDDEN: .* firstName needs manage:all-users/],
    [`${newEmail()},,,${externalId},,`, /^USER_EXTERNAL_ID_CONFLICT/],
    [`${newEmail()},,,,no hash,`, /^passwordHash: expected a password hash/],
    [`${newEmail()},,,,,[1]`, /^metadata: expected a JSON object/],
    [`${newEmail()},,,,,"{""a"":""${"x".repeat(9_000)}""}"`, /^metadata: expected at most 8192 bytes/],
    [`${newEmail()},,,,,,,`, /^the row has 8 fields; the header has 6/],
    [`"${newEmail()},,,,,"x`, /^there is text after a closing quote/],
    [`${good.toUpperCase()},,,,,`, /^email: row 1 of the file has the same one/],
    [`${newEmail()},,,,${"$2b$99$" + "x".repeat(53)},`, /^passwordHash/],
  ];
  const csv = [
    "email,firstName,roles,externalId,passwordHash,metadata",
    `${good},,,,,`,
    ...rows.map(([row]) => row),
    `${newEmail()},,,,,`,
  ].join("\n");
  const done = await importing.run(admin, csv);
  const lines = await importing.result(admin, done);
  assert.equal(lines.length, rows.length + 2);
  rows.forEach(([row, why], at) => {
    assert.equal(lines[at + 1]?.[2], "Failed", row);
    assert.match(lines[at + 1]?.[3] ?? "", why, row);
  });
  assert.deepEqual([done.failed, done.created], [rows.length, 2]);
  assert.equal((await byEmail(shared.email)).firstName, "Test");
});

Deno.test("an import deactivates neither the importer nor a holder of admin:system", async () => {
  const platform = t.platformTenantId;
  const importer = await t.actor({ tenantId: platform, permissions: IMPORTER });
  const csv = `email,isActive,roles\n${importer.email},false,\n${t.systemAdmin.email},false,\n` +
    `${t.systemAdmin.email.replace("@", "+none@")},,\n`;
  const [self, system] = await importing.result(importer, await importing.run(importer, csv));
  assert.match(self?.[3] ?? "", /^USER_SELF_CONFLICT/);
  assert.match(system?.[3] ?? "", /^LAST_SYSTEM_ADMIN_CONFLICT/);
});

Deno.test("an import changes no user whose platform reach the importer lacks, like the other routes", async () => {
  const platform = t.platformTenantId;
  const importer = await t.actor({ tenantId: platform, permissions: IMPORTER });
  const manager = await t.actor({ tenantId: platform, permissions: ["manage:all-users"] });
  const inactive = await t.actor({ role: "SystemAdmin" });
  await sql`update users set is_active = false where id = ${inactive.userId}`;
  const [own] = await sql<{ name: string }[]>`select name from roles where id = ${importer.roleId}`;
  const stateOf = () =>
    sql`select u.first_name, u.is_active, u.version, array(select role_id from user_tenant_roles r
      where r.user_id = u.id) as roles from users u where id in ${
      sql([manager.userId, inactive.userId])
    } order by id`;
  const before = JSON.stringify(await stateOf());
  for (
    const [csv, missing] of [
      [`email,firstName\n${manager.email},Other\n`, "manage:all-users"],
      [`email,isActive\n${manager.email},false\n`, "manage:all-users"],
      [`email,roles\n${manager.email},${own?.name}\n`, "manage:all-users"],
      [`email,isActive\n${inactive.email},true\n`, "admin:system"],
    ]
  ) {
    const [row] = await importing.result(importer, await importing.run(importer, csv ?? ""));
    assert.equal(
      row?.[3],
      `MISSING_PERMISSION: the user holds ${missing}, which the importer does not hold`,
      csv,
    );
  }
  assert.equal(JSON.stringify(await stateOf()), before);
});

Deno.test("an import uses rights within the tenant that its maker got since, and no platform reach", async () => {
  const now = ({ userId, tenantId }: Actor, permissions: string[] = []) =>
    permissionsNow(sql, {
      userId,
      apiKeyId: null,
      isServiceAccount: false,
      actingTenantId: tenantId,
      permissions,
    });
  const admin = await t.actor({ role: "Admin" });
  assert.deepEqual([...await now(admin)].toSorted(), [...await now(admin, ["read:users"])].toSorted());
  assert.ok((await now(admin)).has("update:users"));
  assert.ok(!(await now(t.systemAdmin)).has("admin:system"));
  assert.ok((await now(t.systemAdmin, ["admin:system"])).has("admin:system"));
});

Deno.test("an import by who can give platform reach needs a recent sign-in of users with a second factor", async () => {
  const csv = `email,roles\n${newEmail()},SystemAdmin\n`;
  const start = (by: Actor, fileId: string, dryRun = false) =>
    by.post("/api/v1/users/imports", { fileId, dryRun });
  const makeOld = async ({ userId }: Actor) => {
    await sql`insert into user_factors (id, user_id, kind, name, secret, confirmed_at)
      values (${crypto.randomUUID()}, ${userId}, 'totp', 'App', 'x', now())`;
    await ageSignIns(t, userId);
  };
  const system = await t.actor({ role: "SystemAdmin" });
  const uploader = await t.actor({ tenantId: t.platformTenantId, permissions: IMPORTER });
  const fileId = await importing.file(uploader, csv);
  await sql`update files set created_by = ${system.userId} where id = ${fileId}`;
  await makeOld(system);
  refused(await start(system, fileId), 403, "STEP_UP_REQUIRED_FORBIDDEN");
  assert.equal((await start(system, fileId, true)).status, 202, "a dry run gives nothing");
  const local = await t.actor({ permissions: IMPORTER });
  const localFile = await importing.file(local, `email\n${newEmail()}\n`);
  await makeOld(local);
  assert.equal((await start(local, localFile)).status, 202, "cannot give platform reach");
});

Deno.test("capacity holds row by row, also for two imports at the same time", async () => {
  const owner = await t.actor({ permissions: IMPORTER });
  await sql`update tenants set max_users = 4 where id = ${owner.tenantId}`;
  const csv = () => `email\n${newEmail()}\n${newEmail()}\n${newEmail()}\n`;
  const dry = await importing.run(owner, `${csv()}${newEmail()}\n`, { dryRun: true });
  assert.deepEqual(counts(dry), { created: 3, updated: 0, unchanged: 0, failed: 1 });
  const both = await Promise.all([importing.run(owner, csv()), importing.run(owner, csv())]);
  assert.equal(both.reduce((sum, { created }) => sum + created, 0), 3);
  assert.equal(both.reduce((sum, { failed }) => sum + failed, 0), 3);
  const failed = both.find((each) => each.failed > 0) ?? both[0];
  const lines = await importing.result(owner, failed);
  assert.match(lines.find(([, , outcome]) => outcome === "Failed")?.[3] ?? "", /^TENANT_CAPACITY_REACHED/);
  const [{ n }] = await sql<
    [{ n: number }]
  >`select user_count as n from tenants where id = ${owner.tenantId}`;
  assert.equal(n, 4);
});

Deno.test("a dry run decides the same and writes no user", async () => {
  const [fresh, known] = [newEmail(), newEmail()];
  const id = await createUser(admin, { email: known, firstName: "Old" });
  const csv = `email,firstName\n${fresh},A\n${known},New\nnone,\n`;
  const dry = await importing.run(admin, csv, { dryRun: true });
  assert.deepEqual(counts(dry), { created: 1, updated: 1, unchanged: 0, failed: 1 });
  refused(await admin.get(`/api/v1/users/by-email/${fresh}`), 404, "USER_NOT_FOUND");
  assert.equal((await byEmail(known)).firstName, "Old");
  assert.deepEqual(await auditOf(t, id), ["user.create"]);
  const real = await importing.run(admin, csv);
  assert.deepEqual(counts(real), counts(dry));
  assert.deepEqual(await importing.result(admin, real), await importing.result(admin, dry));
});

Deno.test("rows of an import into several tenants name them by id or name", async () => {
  const [a, b] = [await t.tenant({ name: `A ${crypto.randomUUID()}` }), await t.tenant()];
  const [{ name }] = await sql<[{ name: string }]>`select name from tenants where id = ${a}`;
  await role("Local", [], a);
  await role("Local", [], b);
  const importer = await t.actor({
    tenantId: t.platformTenantId,
    permissions: [...IMPORTER, "manage:all-users"],
  });
  const [both, one, elsewhere] = [newEmail(), newEmail(), await t.actor()];
  const csv = `tenantId,tenantName,email,roles\n${a},,${both},Local\n${b},,${both},Local\n` +
    `,${name.toUpperCase()},${one},Local\n,No such tenant,${newEmail()},\n,,${newEmail()},\n${b},,${elsewhere.email},\n`;
  const done = await importing.run(importer, csv, { admin: true });
  assert.deepEqual(counts(done), { created: 2, updated: 2, unchanged: 0, failed: 2 });
  const lines = await importing.result(importer, done);
  assert.match(lines[3]?.[3] ?? "", /^TENANT_NOT_FOUND/);
  assert.match(lines[4]?.[3] ?? "", /^tenantId: expected/);
  const [user] = (await t.systemAdmin.get(`/api/v1/admin/users?search=${both}`)).body.items;
  assert.deepEqual(
    user.tenants.map((link: { tenantId: string; isDefault: boolean }) => [link.tenantId, link.isDefault]),
    [[a, true], [b, false]],
  );
  assert.ok(!await isSignedIn(elsewhere), "a new link ends sessions");
});

Deno.test("password hashes appear in no job, log line, audit row, event and result", async () => {
  const email = newEmail();
  const done = await importing.run(
    admin,
    `email,passwordHash\n${email},${BCRYPT}\n${newEmail()},${BCRYPT}x\n`,
  );
  assert.deepEqual([done.created, done.failed], [1, 1]);
  const hash = BCRYPT.slice(7);
  assert.ok(!(await importing.resultText(admin, done.resultFileId ?? "")).includes(hash));
  assert.ok(!t.logs.some((line) => line.includes(hash)));
  const pattern = `%${hash}%`;
  const leaks = await sql`
    select 'job' from jobs where serialized_args like ${pattern}
    union all select 'execution' from job_executions e where e::text like ${pattern}
    union all select 'audit' from audit_log a where a::text like ${pattern}
    union all select 'value' from audit_values v where v::text like ${pattern}
    union all select 'event' from events e where e.data::text like ${pattern}
    union all select 'row' from user_import_rows r where r::text like ${pattern}`;
  assert.deepEqual([...leaks], []);
});

Deno.test("only Available documents of the caller's tenant that they may read are imported", async () => {
  const start = (by: typeof admin, fileId: string, dryRun: unknown = false) =>
    by.post("/api/v1/users/imports", { fileId, dryRun });
  const fileId = await importing.file(admin, `email\n${newEmail()}\n`);
  const outsider = await t.actor({ permissions: IMPORTER });
  refused(await start(outsider, fileId), 404, "FILE_NOT_FOUND");
  const blind = await t.actor({ tenantId, permissions: ["create:users"] });
  refused(await start(blind, fileId), 404, "FILE_NOT_FOUND");
  refused(await start(admin, crypto.randomUUID()), 404, "FILE_NOT_FOUND");
  const product = await importing.files.fileIn("Available", { tenantId: null });
  refused(await start(t.systemAdmin, product), 404, "FILE_NOT_FOUND");
  const scanning = await importing.files.fileIn("Scanning", { tenantId });
  refused(await start(admin, scanning), 409, "FILE_NOT_AVAILABLE_CONFLICT");
  const infected = await importing.files.fileIn("Infected", { tenantId });
  refused(await start(admin, infected), 409, "FILE_INFECTED_CONFLICT");
  const purged = await importing.files.fileIn("Purged", { tenantId });
  refused(await start(admin, purged), 409, "FILE_PURGED_CONFLICT");
  const done = await importing.start(admin, fileId);
  refused(await start(admin, done.resultFileId ?? ""), 400, "VALIDATION_ERROR"); // a report, not a document
  refused(await start(admin, "x"), 400, "VALIDATION_ERROR");
  refused(await start(admin, fileId, "yes"), 400, "VALIDATION_ERROR");
  const visitor = await t.actor({ tenantId, permissions: ["read:users", "read:files"] });
  refused(await start(visitor, fileId), 403, "MISSING_PERMISSION");
  refused(await admin.post("/api/v1/admin/users/imports", { fileId }), 403, "MISSING_PERMISSION");
});

Deno.test("an import stays in its tenant, and those into several tenants are apart", async () => {
  const done = await importing.run(admin, `email\n${newEmail()}\n`);
  const outsider = await t.actor({ permissions: IMPORTER });
  refused(await outsider.get(`/api/v1/users/imports/${done.id}`), 404, "USER_IMPORT_NOT_FOUND");
  assert.equal((await outsider.get("/api/v1/users/imports")).body.totalCount, 0);
  const { items } = (await admin.get("/api/v1/users/imports?pageSize=1")).body;
  assert.equal(items[0].id, done.id);
  refused(await t.systemAdmin.get(`/api/v1/admin/users/imports/${done.id}`), 404, "USER_IMPORT_NOT_FOUND");
  assert.deepEqual(await auditOf(t, done.id), ["userImport.create", "userImport.complete"]);
  const held =
    await sql`select reference_count as n from files where tenant_id = ${tenantId} and reference_count > 0`;
  assert.deepEqual([...held], [], "both files of an import that has ended can be purged");
});

Deno.test("an import whose importer has lost the permission does nothing", async () => {
  const leaving = await t.actor({ tenantId, permissions: IMPORTER });
  const fileId = await importing.file(leaving, `email\n${newEmail()}\n`);
  // the request waits for the file until the permission is gone, so its job runs without it
  const release = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const holding = transact(sql, async (tx) => {
    await tx`select from files where id = ${fileId} for update`;
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  const started = leaving.post("/api/v1/users/imports", { fileId });
  await sql`delete from role_permissions where role_id = ${leaving.roleId}`;
  release.resolve();
  await holding;
  const { body } = await started;
  const done = await importing.finished(admin, `/api/v1/users/imports/${body.importId}`);
  assert.deepEqual([done.status, done.created], ["Failed", 0]);
  assert.match(done.error ?? "", /may no longer import/);
});

Deno.test("an import changes users only with update:users", async () => {
  const creator = await t.actor({
    tenantId,
    permissions: ["read:users", "create:users", "upload:files", "read:files"],
  });
  const [email, fresh] = [newEmail(), newEmail()];
  await createUser(admin, { email });
  const csv = `email,isActive,roles,firstName\n${email},false,Reader of users,\n${fresh},,,New\n`;
  for (const dryRun of [true, false]) {
    const done = await importing.run(creator, csv, { dryRun });
    assert.deepEqual(counts(done), { created: 1, updated: 0, unchanged: 0, failed: 1 });
    const [changed] = await importing.result(creator, done);
    assert.match(changed?.[3] ?? "", /^MISSING_PERMISSION: .*update:users/);
  }
  assert.equal((await byEmail(email)).isActive, true);
  const same = await importing.run(creator, `email,firstName\n${fresh},New\n`);
  assert.equal(same.unchanged, 1, "nothing to change");
});
