import assert from "node:assert/strict";
import { connectPostgres, type Sql } from "../../../infra/postgres/postgres.ts";
import { newId } from "../../../domain/shared/ids.ts";
import { has, pluck } from "../../support/answers.ts";
import { HttpClient } from "../../support/http.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { type Actor, setupShared } from "../../support/setup.ts";
import { until } from "../../support/until.ts";
import { CLERK, createUser, done, ended, filesOf, sendMail, signIn } from "./support.ts";
import { sweepUserDataJob } from "../../../domain/user_data/request_jobs.ts";
import { IMPORTER, Importing } from "../access/imports/importing.ts";
import { inTenant, makeAccount, MANAGE, PATH } from "../auth/service_accounts.ts";
import { finish } from "../../support/maintenance.ts";
import { drawnReport } from "../reports/support.ts";

const t = await setupShared();
const { sql } = t.steward.platform;

/** The files of a completed export, by path, as rows. */
async function rowsOf(by: Actor, fileId: string): Promise<Record<string, Record<string, unknown>[]>> {
  const parts = Object.entries(await filesOf(by, fileId));
  return Object.fromEntries(parts.map(([path, text]) => [
    path,
    text.split("\n").filter(Boolean).map((line) => JSON.parse(line)),
  ]));
}

async function person(by: Actor) {
  const email = `${crypto.randomUUID()}@personal.example`;
  const id = await createUser(by, { email, firstName: "Ana" });
  await by.put(`/api/v1/users/${id}`, { externalId: `ext-${email}` });
  return { id, email };
}

/** An export of a user with a session and messages. */
async function exported() {
  const clerk = await t.actor({ permissions: [...CLERK, "manage:api-keys"] });
  const her = await person(clerk);
  const { body: session } = await signIn(t, her.email);
  await sendMail(clerk, [her.email], { textBody: "A message" });
  const former = await sendMail(clerk, [her.email], { textBody: "To who had the address before" });
  await sql`update notification_recipients set user_id = ${clerk.userId} where notification_id = ${former}`;
  await sql`insert into invitations (id, tenant_id, email, first_name, last_name, role_ids, status, invited_by, token_hash, expires_at,
      accepted_at, accepted_user_id)
    values (${newId()}, ${clerk.tenantId}, ${her.email}, '', '', '{}', 'Accepted', ${clerk.userId}, ${
    Buffer.from(newId())
  }, now(), now(),
      ${clerk.userId})`;
  await sendMail(clerk, [her.id], { channel: "InApp", textBody: "In app" });
  await until(async () => (await sql`select from user_notifications where user_id = ${her.id}`).length);
  return { clerk, her, session, request: await done(clerk, `/api/v1/users/${her.id}/export`) };
}
const { clerk, her, session, request } = await exported();

Deno.test("the export of a user has the rows about the user in the tenant, and no secrets", async () => {
  has(request, { kind: "UserExport", tenantId: clerk.tenantId });
  const rows = await rowsOf(clerk, request.fileId);
  assert.equal(rows["access/profile.jsonl"]?.[0]?.email, her.email);
  assert.equal(rows["access/links.jsonl"]?.[0]?.externalId, `ext-${her.email}`);
  assert.equal(rows["access/sessions.jsonl"]?.length, 1);
  assert.deepEqual(pluck(rows["notifications/messages.jsonl"] ?? [], "textBody"), ["A message", "In app"]);
  assert.deepEqual(rows["access/invitations.jsonl"], []);
  assert.equal(rows["notifications/in-app.jsonl"]?.[0]?.body, "In app");
  const actions = rows["audit/audit-log.jsonl"]?.map(({ action }) => action);
  assert.ok(actions?.includes("user.create") && actions.includes("user.export"));
  const text = JSON.stringify(rows);
  const [stored] = await sql`select password_hash from users where id = ${her.id}`;
  const secrets = [session.accessToken, session.refreshToken, stored?.passwordHash, "stagingKey", "hash"];
  for (const secret of secrets) assert.ok(!text.includes(secret), `the export contains ${secret}`);
  const record = (await clerk.get(`/api/v1/files/${request.fileId}`)).body;
  has(record, { profile: "export", retentionClass: "Temporary", tenantId: clerk.tenantId });
  const days = (Date.parse(record.retainUntil) - Date.now()) / 86_400_000;
  assert.ok(days > 6.9 && days < 7.1);
});

Deno.test("only the user who asked for an export sees its file", async () => {
  const { fileId, id } = request;
  const colleague = await t.actor({ tenantId: clerk.tenantId!, permissions: [...CLERK, "purge:files"] });
  const file = `/api/v1/files/${fileId}`;
  const reads = ["", "/download-url", "/scan-attempts"].map((path) => colleague.get(file + path));
  await refused("404 FILE_NOT_FOUND", ...reads, colleague.post(`${file}/purge`, { reason: "x" }));
  const ids = async (by: Actor, query: string) =>
    pluck((await by.get(`/api/v1/files?${query}`)).body.items, "id");
  const program = async (...permissions: string[]) => {
    const made = await clerk.post("/api/v1/api-keys", { name: permissions.join(), permissions });
    return await new HttpClient(t.url, made.body.key).get(file);
  };
  await refused("404 FILE_NOT_FOUND", program("read:files"));
  await accepted(program("read:files", "export:users"), 200);
  assert.ok(!(await ids(clerk, "")).includes(fileId), "ordinary lists have no exports");
  assert.deepEqual(await ids(clerk, "profile=export"), [fileId]);
  assert.deepEqual(await ids(colleague, "profile=export"), []);
  const { text } = await drawnReport(t, clerk, "file-inventory");
  assert.ok(!text.includes(fileId), "the report on the tenant's files has no exports");
  const events = await sql`select type from events where data ->> 'fileId' = ${fileId}`;
  assert.deepEqual(pluck(events, "type"), [], "the tenant's webhooks are not told of exports");
  const status = await colleague.get(`/api/v1/users/${her.id}/data-requests/${id}`);
  assert.equal(status.body.fileId, fileId, "colleagues with the permission see the status");
});

Deno.test("a tenant exports a user of others only if the links there are inactive, without the keys of these; the platform exports all", async () => {
  const [clerk, other] = [await t.actor({ permissions: CLERK }), await t.actor({ permissions: CLERK })];
  const her = await person(clerk);
  await sql`insert into user_tenants (user_id, tenant_id) values (${her.id}, ${other.tenantId})`;
  for (const [name, tenantId] of [["here", clerk.tenantId], ["elsewhere", other.tenantId]] as const) {
    await sql`insert into api_keys (id, tenant_id, created_by, name, hash, start, permissions)
      values (${newId()}, ${tenantId}, ${her.id}, ${name}, ${Buffer.from(newId())}, 'sk_', '{read:users}')`;
  }
  const path = `/api/v1/users/${her.id}/export`;
  await refused("403 CROSS_TENANT_FORBIDDEN", clerk.post(path));
  const admin = t.systemAdmin;
  const whole = await done(admin, `/api/v1/admin/users/${her.id}/export`);
  const [file] = await sql`select tenant_id, created_by from files where id = ${whole.fileId}`;
  assert.deepEqual({ ...file }, { tenantId: admin.tenantId, createdBy: admin.userId });
  await sql`update user_tenants set is_active = false where user_id = ${her.id} and tenant_id = ${other.tenantId}`;
  const { fileId } = await done(clerk, path);
  const exported = (await rowsOf(clerk, fileId))["access/api-keys.jsonl"] ?? [];
  assert.deepEqual(pluck(exported, "name"), ["here"]);
});

/** Runs `meanwhile` while an export waits for a query, then lets the export go on. @returns its status at the end */
async function duringExport(by: Actor, path: string, meanwhile: () => Promise<void>) {
  const gate = connectPostgres(t.steward.platform.config.DATABASE_URL ?? "", { max: 1, work: "report" });
  const wait = (q: Sql) => q`select pg_advisory_xact_lock_shared(4711)::text as waited`;
  const waiting = { area: "waiting", user: { wait }, tenant: { wait } };
  const restore = t.replace((p) => p, { personalData: [...t.steward.platform.personalData, waiting] });
  try {
    await gate`select pg_advisory_lock(4711)`;
    const { body } = await by.post(path);
    await until(() => by.get(body.statusUrl), ({ body }) => body.step === "waiting", { what: "the gate" });
    await meanwhile();
    await gate`select pg_advisory_unlock(4711)`;
    const [job] = await sql`select job_id from data_requests where id = ${body.id}`;
    await t.settled(job?.jobId, ["Succeeded"]);
    return body.id as string;
  } finally {
    restore();
    await gate.end({ timeout: 5 });
  }
}

Deno.test("an export of a tenant ends with the tenant's erasure; earlier ones are purged, new ones refused", async () => {
  const name = `Gone ${crypto.randomUUID()}`;
  const tenantId = await t.tenant({ name });
  await sql`update tenants set is_active = false where id = ${tenantId}`;
  const at = `/api/v1/admin/tenants/${tenantId}`;
  const admin = t.systemAdmin;
  const earlier = await done(admin, `${at}/export`);
  const id = await duringExport(admin, `${at}/export`, async () => {
    await done(admin, `${at}/erase`, { reason: "contract ended", name });
  });
  const status = await admin.get(`${at}/data-requests/${id}`);
  assert.deepEqual([status.body.status, status.body.fileId], ["Failed", null]);
  const [file] = await sql`select purge_reason from files where id = ${earlier.fileId}`;
  assert.equal(file?.purgeReason, "job:tenant-erased");
  await refused("404 TENANT_NOT_FOUND", admin.post(`${at}/export`));
});

Deno.test("an export that runs when the user is erased does not finish; its file and those of earlier ones are purged", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const her = await person(clerk);
  const earlier = await done(clerk, `/api/v1/users/${her.id}/export`);
  const id = await duringExport(clerk, `/api/v1/users/${her.id}/export`, async () => {
    await done(clerk, `/api/v1/users/${her.id}/erase`, { reason: "asked" });
  });
  const record = (await clerk.get(`/api/v1/files/${earlier.fileId}`)).body;
  has(record, { status: "Purged", purgeReason: "job:data-erased" });
  const { body } = await clerk.get(`/api/v1/users/${her.id}/data-requests/${id}`);
  assert.deepEqual([body.status, body.fileId], ["Failed", null]);
  assert.match(body.errorMessage, /erasure of the same data/);
  const files =
    await sql`select status, purge_reason from files where file_name = ${`user-export-${her.id}.zip`}`;
  assert.deepEqual({ ...files[0] }, { status: "Purged", purgeReason: "job:data-erased" });
});

Deno.test("an attempt that cannot complete its export leaves no file that the erasure of the user does not find", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const her = await person(clerk);
  await sql.unsafe(`create function break_export() returns trigger language plpgsql as $$
    begin raise exception 'the disk is full'; end $$`);
  await sql.unsafe(`create trigger break_export before update on data_requests for each row
    when (new.user_id = '${her.id}' and new.file_id is not null) execute function break_export()`);
  const { id } = await accepted(clerk.post(`/api/v1/users/${her.id}/export`), 202);
  await until(async () =>
    (await sql`select from data_requests r join jobs j on j.id = r.job_id
    where r.id = ${id} and j.status = 'Failed'`).length
  );
  await sql`drop function break_export cascade`;
  await done(clerk, `/api/v1/users/${her.id}/erase`, { reason: "asked" });
  const files = await sql<{ status: string }[]>`
    select status from files where file_name = ${`user-export-${her.id}.zip`}`;
  assert.deepEqual(pluck(files, "status"), ["Pending"], "the sweep purges what was not confirmed");
});

const importing = new Importing(t);
const operator = await t.actor({ role: "SystemAdmin", global: true });

/** Runs `work` while no job of the type starts. */
async function whilePaused<T>(type: string, work: () => Promise<T>): Promise<T> {
  const url = `/api/v1/job-types/${type}`;
  await accepted(operator.post(`${url}/pause`, {}), 200);
  const result = await work();
  await accepted(operator.post(`${url}/resume`), 200);
  return result;
}

/** The job that has this id among its arguments. */
async function jobOf(id: string): Promise<string> {
  const [job] = await sql<{ id: string }[]>`
    select id from jobs where position(${id} in serialized_args) > 0 order by id desc limit 1`;
  return job?.id ?? "";
}

Deno.test("an import whose job is cancelled fails, and its file is no longer held", async () => {
  const admin = await t.actor({ permissions: [...IMPORTER, "manage:jobs"] });
  const fileId = await importing.files.fileIn("Available", admin);
  const path = await whilePaused("steward.import-users", async () => {
    const { body } = await admin.post("/api/v1/users/imports", { fileId });
    await accepted(admin.post(`/api/v1/jobs/${await jobOf(body.importId)}/cancel`), 200);
    return `/api/v1/users/imports/${body.importId}`;
  });
  assert.equal((await admin.get(path)).body.status, "Queued");
  await finish(sweepUserDataJob, t.steward.platform);
  const { status, error } = (await admin.get(path)).body;
  assert.deepEqual([status, error], ["Failed", "The import ended early: its job was cancelled."]);
  const held = await sql`select from file_references where file_id = ${fileId} and released_at is null`;
  assert.equal(held.count, 0);
});

Deno.test("an erasure whose job gave up fails; asked again, it goes on", async () => {
  const clerk = await t.actor({ permissions: CLERK });
  const email = `${crypto.randomUUID()}@personal.example`;
  const user = await createUser(clerk, { email });
  const erase = () => clerk.post(`/api/v1/users/${user}/erase`, { reason: "asked" });
  const statusUrl = await whilePaused("steward.erase-data", async () => {
    const { body } = await erase();
    await sql`update jobs set status = 'DeadLettered' where id = ${await jobOf(body.id)}`; // its worker died too often
    return body.statusUrl;
  });
  await finish(sweepUserDataJob, t.steward.platform);
  const { status, errorMessage } = (await clerk.get(statusUrl)).body;
  const reason = "It ended early: its job ended without finishing it. Ask again.";
  assert.deepEqual([status, errorMessage], ["Failed", reason]);
  assert.equal((await erase()).body.statusUrl, statusUrl);
  await ended(clerk, statusUrl);
  assert.equal((await sql`select from users where email = ${email}`).length, 0);
});

Deno.test("an import ends when who started it, a user or an account, has lost the permission", async () => {
  const admin = await t.actor({ permissions: [...IMPORTER, MANAGE] });
  const user = await t.actor({ tenantId: admin.tenantId ?? "", permissions: IMPORTER });
  const account = await makeAccount(admin, { permissions: IMPORTER });
  const less = { permissions: IMPORTER.filter((code) => code !== "create:users") };
  const cases: [HttpClient, () => Promise<unknown>][] = [
    [user, () => sql`delete from role_permissions where role_id = ${user.roleId}`],
    [new HttpClient(t.url, account.secret), () => accepted(admin.put(`${PATH}/${account.id}`, less))],
  ];
  for (const [importer, lose] of cases) {
    const fileId = await importing.files.fileIn("Available", admin);
    const path = await whilePaused("steward.import-users", async () => {
      const started = importer.post("/api/v1/users/imports", { fileId }, inTenant(admin.tenantId));
      const { importId } = await accepted(started, 202);
      await lose();
      return `/api/v1/users/imports/${importId}`;
    });
    const { status, created, error } = await importing.finished(admin, path);
    const reason = "who started the import may no longer import users";
    assert.deepEqual([status, created, error], ["Failed", 0, reason]);
  }
});
