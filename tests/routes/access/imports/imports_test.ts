import assert from "node:assert/strict";
import type { FileStatus } from "../../../../domain/files/file.ts";
import { permissionsLeft } from "../../../../domain/access/users/bulk/import_users.ts";
import { has, pluck } from "../../../support/answers.ts";
import { type Actor, setupShared } from "../../../support/setup.ts";
import { auditOf, isSignedIn, refused } from "../answers.ts";
import { ageSignIns } from "../../auth/factors.ts";
import { createUser, insertRole, newEmail } from "../users.ts";
import { BCRYPT } from "./hashes.ts";
import { type Imported, IMPORTER, Importing } from "./importing.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const importing = new Importing(t);
const admin = await t.actor({ permissions: IMPORTER });
const tenantId = admin.tenantId ?? "";
const byEmail = async (email: string, by = admin) =>
  (await by.get(`/api/v1/users/by-email/${encodeURIComponent(email)}`)).body;

const reader = await insertRole(t, tenantId, ["read:users"], "Reader of users");
await insertRole(t, tenantId, ["delete:roles"], "Deleter of roles");

Deno.test("a CSV file creates users with all columns, who sign in with their old passwords; the hashes appear nowhere else", async () => {
  const email = newEmail();
  const externalId = crypto.randomUUID();
  const wrong = `,,,,,,${BCRYPT}x,`;
  const csv =
    `\ufeffemail,firstName,lastName,phoneNumber,externalId,isActive,roles,passwordHash,metadata\r\n` +
    `${email},"Ana ""A""",Ünal,+351 1,${externalId},TRUE,reader OF users;${reader},${BCRYPT},"{""tier"":""gold""}"\r\n` +
    `${newEmail()},,,,,no,,,\r\n${newEmail()}${wrong}\r\n`;
  const done = await importing.run(admin, csv);
  assert.deepEqual([done.status, done.total, done.error], ["Completed", 3, null]);
  has(done, { created: 2, updated: 0, unchanged: 0, failed: 1 });
  const user = await byEmail(email);
  has(user, {
    firstName: 'Ana "A"',
    lastName: "Ünal",
    phoneNumber: "+3511",
    externalId,
    isActive: true,
    roles: ["Reader of users"],
    metadata: { tier: "gold" },
  });
  const login = await t.nobody.post("/auth/login", { email, password: "imported password" });
  assert.equal(login.status, 200, JSON.stringify(login.body));
  assert.equal(login.body.tenant.id, tenantId);
  assert.deepEqual(await auditOf(t, user.id), ["user.create"]);
  const [link] = await sql`select is_default from user_tenants where user_id = ${user.id}`;
  assert.equal(link?.isDefault, true);
  await requireNoHash(done);
  refused(await t.systemAdmin.get(`/api/v1/admin/users/imports/${done.id}`), 404, "USER_IMPORT_NOT_FOUND");
  assert.deepEqual(await auditOf(t, done.id), ["userImport.create", "userImport.complete"]);
  const held = await sql`select from files where tenant_id = ${tenantId} and reference_count > 0`;
  assert.equal(held.length, 0, "both files of an import that has ended can be purged");
});

/** The hash is in no job, log line, audit row, event and result. */
async function requireNoHash(done: Imported): Promise<void> {
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
}

Deno.test("users are found by external id, else by email; absent and empty values change nothing", async () => {
  const [first, second] = [newEmail(), newEmail()];
  const externalId = crypto.randomUUID();
  const ids = [
    await createUser(admin, { email: first, firstName: "Old", tenants: [{ tenantId, externalId }] }),
    await createUser(admin, { email: second, firstName: "Old", lastName: "Kept", metadata: { a: 1 } }),
  ];
  const csv = `email,externalId,firstName,lastName,roles,metadata,passwordHash\n` +
    `,${externalId},New,,,,\n${second.toUpperCase()},e-${externalId},New,,Reader of users,,${BCRYPT}\n`;
  const fileId = await importing.file(admin, csv);
  const done = await importing.start(admin, fileId);
  has(done, { created: 0, updated: 2, unchanged: 0, failed: 0 });
  assert.equal((await byEmail(first)).firstName, "New");
  has(await byEmail(second), {
    firstName: "New",
    lastName: "Kept",
    metadata: { a: 1 },
    roles: ["Reader of users"],
    externalId: `e-${externalId}`,
  });
  const login = await t.nobody.post("/auth/login", { email: second, password: "imported password" });
  refused(login, 401, "CREDENTIALS_INVALID_UNAUTHORIZED");
  assert.deepEqual(await importing.result(admin, done), [
    ["1", first, "Updated", ""],
    ["2", second, "Updated", "passwordHash: not changed, because the user exists"],
  ]);
  for (const id of ids) assert.deepEqual(await auditOf(t, id), ["user.create", "user.update"]);
  assert.equal((await importing.start(admin, fileId)).unchanged, 2);
});

Deno.test("sessions end only if rights changed, here by a JSON file", async () => {
  const member = () => t.actor({ tenantId });
  const [renamed, granted, off] = [await member(), await member(), await member()];
  const changed = {
    firstName: "New",
    externalId: crypto.randomUUID(),
    phoneNumber: null,
    metadata: { a: [1] },
  };
  const rows = [
    { email: renamed.email, ...changed },
    { email: granted.email, roles: ["Reader of users"] },
    { email: off.email, roles: ";", isActive: false },
  ];
  const json = JSON.stringify(rows, null, 1);
  assert.equal((await importing.run(admin, json, { contentType: "text/plain" })).updated, 3);
  assert.deepEqual((await byEmail(renamed.email)).metadata, { a: [1] });
  assert.deepEqual(await Promise.all([renamed, granted, off].map(isSignedIn)), [true, false, false]);
  const events = await sql`select data ->> 'userId' as id from events where type = 'user.access-changed'
    and data ->> 'userId' = any(${[renamed.userId, granted.userId, off.userId]}::text[]) order by id`;
  assert.deepEqual(events.map(({ id }) => id), [granted.userId, off.userId].sort());
});

Deno.test("a bad row fails alone, with the reason; a dry run decides the same and writes no user", async () => {
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
    [`"=HYPERLINK(""http://x"")",,,,,`, /^email: expected an email address/],
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
  const fileId = await importing.file(admin, csv);
  const dry = await importing.start(admin, fileId, { dryRun: true });
  refused(await admin.get(`/api/v1/users/by-email/${good}`), 404, "USER_NOT_FOUND");
  const done = await importing.start(admin, fileId);
  const lines = await importing.result(admin, done);
  assert.equal(lines.length, rows.length + 2);
  rows.forEach(([row, why], at) => {
    assert.equal(lines[at + 1]?.[2], "Failed", row);
    assert.match(lines[at + 1]?.[3] ?? "", why, row);
  });
  for (const each of [dry, done]) has(each, { created: 2, updated: 0, unchanged: 0, failed: rows.length });
  assert.equal(lines[2]?.[1], `'=HYPERLINK("http://x")`, "no cell is a formula");
  assert.equal((await byEmail(shared.email)).firstName, "Test");
});

Deno.test("an import changes neither the importer's activity nor a user whose platform reach the importer lacks", async () => {
  const tenant = { tenantId: t.platformTenantId };
  const importer = await t.actor({ ...tenant, permissions: IMPORTER });
  const manager = () => t.actor({ ...tenant, permissions: ["manage:all-users"] });
  const [renamed, off, regranted] = [await manager(), await manager(), await manager()];
  const inactive = await t.actor({ role: "SystemAdmin" });
  await sql`update users set is_active = false where id = ${inactive.userId}`;
  const [own] = await sql<{ name: string }[]>`select name from roles where id = ${importer.roleId}`;
  const ids = [renamed, off, regranted, inactive].map(({ userId }) => userId);
  const stateOf = () =>
    sql`select u.first_name, u.is_active, u.version, array(select role_id from user_tenant_roles r
      where r.user_id = u.id) as roles from users u where id in ${sql(ids)} order by id`;
  const before = JSON.stringify(await stateOf());
  const lacking = (code: string) =>
    new RegExp(`^MISSING_PERMISSION: the user holds ${code}, which the importer does not hold$`);
  const rows: [row: string, why: RegExp][] = [
    [`${importer.email},,false,`, /^USER_SELF_CONFLICT/],
    [`${t.systemAdmin.email},,false,`, /^LAST_SYSTEM_ADMIN_CONFLICT/],
    [`${renamed.email},Other,,`, lacking("manage:all-users")],
    [`${off.email},,false,`, lacking("manage:all-users")],
    [`${regranted.email},,,${own?.name}`, lacking("manage:all-users")],
    [`${inactive.email},,true,`, lacking("admin:system")],
  ];
  const csv = ["email,firstName,isActive,roles", ...rows.map(([row]) => row)].join("\n");
  const lines = await importing.result(importer, await importing.run(importer, csv));
  rows.forEach(([row, why], at) => assert.match(lines[at]?.[3] ?? "", why, row));
  assert.equal(JSON.stringify(await stateOf()), before);
});

Deno.test("an import uses rights within the tenant that its maker got since, and no platform reach", async () => {
  const now = ({ userId, tenantId: actingTenantId }: Actor, permissions: string[] = []) => {
    const ofUser = { userId, apiKeyId: null, isServiceAccount: false };
    return permissionsLeft(sql, { ...ofUser, actingTenantId, permissions });
  };
  const admin = await t.actor({ role: "Admin" });
  assert.deepEqual([...await now(admin)].toSorted(), [...await now(admin, ["read:users"])].toSorted());
  assert.ok((await now(admin)).has("update:users"));
  assert.ok(!(await now(t.systemAdmin)).has("admin:system"));
  assert.ok((await now(t.systemAdmin, ["admin:system"])).has("admin:system"));
});

Deno.test("an import of a service account has none of its rights once the account has expired", async () => {
  const importer = { name: "Importer", permissions: ["create:users"], tenants: [tenantId] };
  const { body: account } = await t.systemAdmin.post("/api/v1/service-accounts", importer);
  const requester = { userId: account.id, apiKeyId: null, isServiceAccount: true, actingTenantId: tenantId };
  const left = async () => [...await permissionsLeft(sql, { ...requester, permissions: ["create:users"] })];
  assert.deepEqual(await left(), ["create:users"]);
  await sql`update service_accounts set expires_at = now() - interval '1 ms' where id = ${account.id}`;
  assert.deepEqual(await left(), []);
});

Deno.test("an import by who can give platform reach needs a recent sign-in of users with a second factor", async () => {
  const start = (by: Actor, fileId: string, dryRun = false) =>
    by.post("/api/v1/users/imports", { fileId, dryRun });
  const makeOld = async ({ userId }: Actor) => {
    await sql`insert into user_factors (id, user_id, kind, name, secret, confirmed_at)
      values (${crypto.randomUUID()}, ${userId}, 'totp', 'App', 'x', now())`;
    await ageSignIns(t, userId);
  };
  const system = await t.actor({ role: "SystemAdmin" });
  const fileId = await importing.files.fileIn("Available", { tenantId: t.platformTenantId });
  await sql`update files set created_by = ${system.userId} where id = ${fileId}`;
  await makeOld(system);
  refused(await start(system, fileId), 403, "STEP_UP_REQUIRED_FORBIDDEN");
  assert.equal((await start(system, fileId, true)).status, 202, "a dry run gives nothing");
});

Deno.test("capacity holds row by row, also for two imports at the same time", async () => {
  const owner = await t.actor({ permissions: IMPORTER });
  await sql`update tenants set max_users = 4 where id = ${owner.tenantId}`;
  const csv = () => ["email", newEmail(), newEmail(), newEmail(), ""].join("\n");
  const dry = await importing.run(owner, `${csv()}${newEmail()}\n`, { dryRun: true });
  has(dry, { created: 3, updated: 0, unchanged: 0, failed: 1 });
  const both = await Promise.all([importing.run(owner, csv()), importing.run(owner, csv())]);
  assert.deepEqual([both[0].created + both[1].created, both[0].failed + both[1].failed], [3, 3]);
  const failed = both.find((each) => each.failed > 0) ?? both[0];
  const lines = await importing.result(owner, failed);
  assert.match(lines.find(([, , outcome]) => outcome === "Failed")?.[3] ?? "", /^TENANT_CAPACITY_REACHED/);
  const [tenant] = await sql`select user_count from tenants where id = ${owner.tenantId}`;
  assert.equal(tenant?.userCount, 4);
});

Deno.test("rows of an import into several tenants name them by id or name; only who started it sees the result", async () => {
  const [a, b] = [await t.tenant({ name: `A ${crypto.randomUUID()}` }), await t.tenant()];
  const [{ name }] = await sql<[{ name: string }]>`select name from tenants where id = ${a}`;
  for (const tenant of [a, b]) await insertRole(t, tenant, [], "Local");
  const permissions = [...IMPORTER, "manage:all-users"];
  const importer = await t.actor({ tenantId: t.platformTenantId, permissions });
  const [both, one, elsewhere] = [newEmail(), newEmail(), await t.actor()];
  const csv = `tenantId,tenantName,email,roles\n${a},,${both},Local\n${b},,${both},Local\n` +
    `,${name.toUpperCase()},${one},Local\n,No such tenant,${newEmail()},\n,,${newEmail()},\n${b},,${elsewhere.email},\n`;
  const done = await importing.run(importer, csv, { admin: true });
  has(done, { created: 2, updated: 2, unchanged: 0, failed: 2 });
  const lines = await importing.result(importer, done);
  assert.match(lines[3]?.[3] ?? "", /^TENANT_NOT_FOUND/);
  assert.match(lines[4]?.[3] ?? "", /^tenantId: expected/);
  const [user] = (await t.systemAdmin.get(`/api/v1/admin/users?search=${both}`)).body.items;
  assert.deepEqual(pluck(user.tenants, "tenantId", "isDefault"), [[a, true], [b, false]]);
  assert.ok(!await isSignedIn(elsewhere), "a new link ends sessions");
  const colleague = await t.actor({ tenantId: t.platformTenantId, permissions: ["read:files"] });
  for (const path of ["", "/download-url"]) {
    refused(await colleague.get(`/api/v1/files/${done.resultFileId}${path}`), 404, "FILE_NOT_FOUND");
  }
  const { items } = (await colleague.get("/api/v1/files?pageSize=100")).body;
  assert.ok(!pluck(items, "id").includes(done.resultFileId));
});

Deno.test("only Available documents of the caller's tenant that they may read are imported", async () => {
  const start = (by: typeof admin, fileId: string) => by.post("/api/v1/users/imports", { fileId });
  const fileIn = (status: FileStatus, tenant: string | null = tenantId) =>
    importing.files.fileIn(status, { tenantId: tenant });
  const blind = await t.actor({ tenantId, permissions: ["create:users"] });
  refused(await start(blind, await fileIn("Available")), 404, "FILE_NOT_FOUND");
  refused(await start(t.systemAdmin, await fileIn("Available", null)), 404, "FILE_NOT_FOUND");
  refused(await start(admin, await fileIn("Scanning")), 409, "FILE_NOT_AVAILABLE_CONFLICT");
  refused(await start(admin, await fileIn("Infected")), 409, "FILE_INFECTED_CONFLICT");
  refused(await start(admin, await fileIn("Purged")), 409, "FILE_PURGED_CONFLICT");
  const report = await fileIn("Available");
  await sql`update files set profile = 'report' where id = ${report}`;
  refused(await start(admin, report), 400, "VALIDATION_ERROR");
});

Deno.test("an import changes users only with update:users", async () => {
  const permissions = IMPORTER.filter((code) => code !== "update:users");
  const creator = await t.actor({ tenantId, permissions });
  const [email, same] = [newEmail(), newEmail()];
  await createUser(admin, { email });
  await createUser(admin, { email: same });
  const csv =
    `email,isActive,roles,firstName\n${email},false,Reader of users,\n${newEmail()},,,New\n${same},,,Ana\n`;
  const done = await importing.run(creator, csv);
  has(done, { created: 1, updated: 0, unchanged: 1, failed: 1 });
  const [changed] = await importing.result(creator, done);
  assert.match(changed?.[3] ?? "", /^MISSING_PERMISSION: .*update:users/);
  assert.equal((await byEmail(email)).isActive, true);
});
