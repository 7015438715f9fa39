import assert from "node:assert/strict";
import { has, pluck } from "../../../support/answers.ts";
import { accepted } from "../../../support/outcomes.ts";
import { setupShared } from "../../../support/setup.ts";
import { until } from "../../../support/until.ts";
import { refused } from "../answers.ts";
import { insertRole, newEmail } from "../users.ts";
import { BCRYPT, HASHES } from "./hashes.ts";
import { type Imported, IMPORTER, Importing } from "./importing.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const importing = new Importing(t);
const importer = await t.actor({ permissions: [...IMPORTER, "purge:files"] });
const platformImporter = await t.actor({
  tenantId: t.platformTenantId,
  permissions: [...IMPORTER, "manage:all-users"],
});

Deno.test("a result ends after 30 days, and both files can be purged earlier, once the import is over", async () => {
  const fileId = await importing.file(importer, `email\n${newEmail()}\n`, "text/comma-separated-values");
  const { resultFileId } = await importing.start(importer, fileId);
  await importing.resultText(importer, resultFileId ?? "");
  const { body } = await importer.get(`/api/v1/files/${resultFileId}`);
  assert.equal(body.retentionClass, "Temporary");
  const days = (Date.parse(body.retainUntil) - Date.now()) / 86_400_000;
  assert.ok(days > 29.9 && days < 30.1, String(days));
  for (const id of [fileId, resultFileId]) {
    assert.equal((await importer.get(`/api/v1/files/${id}`)).body.referenceCount, 0);
    const purged = await importer.post(`/api/v1/files/${id}/purge`, { reason: "imported" });
    assert.deepEqual([purged.status, purged.body.status], [200, "Purged"]);
  }
});

const previewOf = ({ id }: { id: string }) => `/api/v1/users/imports/${id}/preview`;

Deno.test("after a dry run the preview shows the columns, the first rows and the failed rows to readers of files, as long as these exist", async () => {
  const email = newEmail();
  const csv = `email,firstName,passwordHash\n${email},Ana,${BCRYPT}\nnot-an-email,Bo,\n${email},Twice,\n`;
  const done = await importing.run(importer, csv, { dryRun: true });
  const path = previewOf(done);
  const tenantId = importer.tenantId ?? "";
  refused(await (await t.actor({ tenantId, permissions: ["create:users"] })).get(path), 403, "FORBIDDEN");
  const reader = await t.actor({ tenantId, permissions: ["create:users", "read:files"] });
  const { body } = await until(() => reader.get(path), ({ body }) => body.isComplete);
  assert.deepEqual(body.columns, ["email", "firstName", "passwordHash"]);
  assert.deepEqual(body.rows[0], {
    row: 1,
    values: { email, firstName: "Ana", passwordHash: "•••" },
    outcome: "Created",
    error: null,
  });
  assert.deepEqual(body.failures, [
    { row: 2, email: "not-an-email", outcome: "Failed", error: "email: expected an email address" },
    { row: 3, email, outcome: "Failed", error: "email: row 1 of the file has the same one" },
  ]);
  assert.ok(!JSON.stringify(body).includes(BCRYPT));
  refused(await importer.get(`/api/v1/users/by-email/${email}`), 404, "USER_NOT_FOUND");
  const { fileId } = (await importer.get(`/api/v1/users/imports/${done.id}`)).body;
  for (const id of [fileId, done.resultFileId]) {
    assert.equal((await importer.post(`/api/v1/files/${id}/purge`, { reason: "imported" })).status, 200);
  }
  has((await importer.get(path)).body, { rows: [], failures: [], isComplete: false });
});

Deno.test("a preview names the first 100 failed rows, and the members of a JSON file", async () => {
  const rows = Array.from({ length: 101 }, (_, n) => ({ email: `bad ${n}`, metadata: { n } }));
  const json = { dryRun: true, contentType: "text/plain" };
  const done = await importing.run(importer, JSON.stringify(rows), json);
  const { body } = await until(() => importer.get(previewOf(done)), ({ body }) => body.isComplete);
  assert.deepEqual([body.columns, body.rows.length], [["email", "metadata"], 10]);
  assert.deepEqual(body.rows[3].values, { email: "bad 3", metadata: '{"n":3}' });
  assert.deepEqual([body.failures.length, body.failures[99].row], [100, 100]);
});

/** Everything that the service tells of an import: the import, its preview, its result file and its audit rows. */
async function toldOf(done: Imported): Promise<string> {
  const path = `/api/v1/users/imports/${done.id}`;
  const preview = await until(
    () => importer.get(`${path}/preview`),
    ({ body }) => body.isComplete || done.resultFileId === null,
  );
  const rows =
    await sql`select a::text, v::text from audit_log a left join audit_values v on v.audit_id = a.id
    where a.target_id = ${done.id}`;
  const result = done.resultFileId === null ? "" : await importing.resultText(importer, done.resultFileId);
  return JSON.stringify([(await importer.get(path)).body, await accepted(preview, 200), rows]) + result;
}

function requireNoHash(told: string): void {
  for (const hash of HASHES) assert.ok(!told.includes(hash), `${hash} in ${told}`);
  assert.ok(!t.logs.some((line) => HASHES.some((hash) => line.includes(hash))));
}

Deno.test("hashes in other columns fail their rows and are masked in results and previews", async () => {
  const of = (column: string, value: unknown) => ({
    email: newEmail(),
    [column]: value,
    passwordHash: BCRYPT,
  });
  const inColumns = ["email", "firstName", "lastName", "phoneNumber"].flatMap((column) => [
    of(column, BCRYPT),
    of(column, HASHES[4]),
  ]);
  const rows = [
    ...inColumns,
    ...HASHES.toReversed().flatMap((hash) => [of("roles", [hash]), of(hash, hash)]),
    ...[BCRYPT, HASHES[1]].map((externalId) => of("externalId", externalId)),
  ];
  const done = await importing.run(importer, JSON.stringify(rows), { contentType: "text/plain" });
  has(done, { created: 0, updated: 0, unchanged: 0, failed: rows.length });
  const told = await toldOf(done);
  requireNoHash(told);
  assert.match(told, /•••/);
  const csv = `email,roles,firstName\n${newEmail()},Ana,"${HASHES[1]}"\n${newEmail()},"${BCRYPT}",Ana\n`;
  const shifted = await importing.run(importer, csv);
  assert.equal(shifted.failed, 2);
  const [first, second] = await importing.result(importer, shifted);
  assert.match(first?.[3] ?? "", /^firstName: expected no password hash; check the order of the columns/);
  assert.match(second?.[3] ?? "", /^ROLE_NOT_FOUND: .* has no role "•••"$/);
  requireNoHash(await toldOf(shifted));
});

async function tenantIdsOf(email: string): Promise<string[]> {
  const { items } = (await t.systemAdmin.get(`/api/v1/admin/users?search=${email}`)).body;
  return pluck(items[0]?.tenants ?? [], "tenantId");
}
async function roleIdsOf(email: string): Promise<string[]> {
  const roles = await sql<{ roleId: string }[]>`select r.role_id from user_tenant_roles r
    join users u on u.id = r.user_id where u.email = ${email}`;
  return roles.map(({ roleId }) => roleId);
}
const rename = (tenantId: string, name: string) =>
  accepted(t.systemAdmin.put(`/api/v1/tenants/${tenantId}`, { name }));

Deno.test("a text that is an id finds no tenant and no role by its name; other names are found whatever makes their lower case", async () => {
  const [victim, named, tag] = [await t.tenant(), crypto.randomUUID(), crypto.randomUUID().slice(0, 8)];
  await rename(await t.tenant(), victim.toUpperCase());
  await rename(await t.tenant(), named);
  const izmir = await t.tenant({ name: `\u0130zmir ${tag}` });
  const roleId = await insertRole(t, izmir, [], "\u0130thalat");
  const idAsName = crypto.randomUUID();
  await insertRole(t, izmir, [], idAsName);
  await insertRole(t, izmir, [], roleId.toUpperCase());
  const rows: [tenantId: string, tenantName: string, role: string, found: string | null][] = [
    [victim, "", "", victim],
    ["", victim, "", victim],
    [named, "", "", null],
    ["", named, "", null],
    ["", `\u0130zmir ${tag}`, "\u0130thalat", izmir],
    ["", `\u0130ZM\u0130R ${tag}`, "\u0130THALAT", izmir],
    [izmir, "", roleId, izmir],
  ];
  const emails = rows.map(newEmail);
  const csv = rows.map(([id, name, role], at) => [id, name, role, emails[at]].join());
  const text = ["tenantId,tenantName,roles,email", ...csv, `${izmir},,${idAsName},${newEmail()}`].join("\n");
  const done = await importing.run(platformImporter, text, { admin: true });
  const lines = await importing.result(platformImporter, done);
  for (const [at, [, , role, found]] of rows.entries()) {
    assert.match(lines[at]?.[3] ?? "", found ? /^$/ : /^TENANT_NOT_FOUND/);
    assert.deepEqual(await tenantIdsOf(emails[at] ?? ""), found ? [found] : [], csv[at]);
    assert.deepEqual(await roleIdsOf(emails[at] ?? ""), role ? [roleId] : []);
  }
  assert.match(lines.at(-1)?.[3] ?? "", /^ROLE_NOT_FOUND/);
});
