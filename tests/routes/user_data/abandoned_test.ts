// Imports, exports and erasures whose job was cancelled or gave up.
import assert from "node:assert/strict";
import { sweepUserDataJob } from "../../../domain/user_data/request_jobs.ts";
import { IMPORTER, Importing } from "../access/imports/importing.ts";
import { inTenant, makeAccount, MANAGE, PATH } from "../auth/service_accounts.ts";
import { HttpClient } from "../../support/http.ts";
import { finish } from "../../support/maintenance.ts";
import { accepted } from "../../support/outcomes.ts";
import { setupShared } from "../../support/setup.ts";
import { CLERK, columnsWith, createUser, ended } from "./support.ts";

const t = await setupShared();
const { sql } = t.steward.platform;
const importing = new Importing(t);
const operator = await t.actor({ role: "SystemAdmin", global: true });

/** Runs `work` while no job of the type starts. */
async function whilePaused<T>(type: string, work: () => Promise<T>): Promise<T> {
  const url = `/api/v1/job-types/${type}`;
  assert.equal((await operator.post(`${url}/pause`, {})).status, 200);
  const result = await work();
  assert.equal((await operator.post(`${url}/resume`)).status, 200);
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
  const fileId = await importing.file(admin, "email\ncancelled@example.test\n");
  const path = await whilePaused("steward.import-users", async () => {
    const { body } = await admin.post("/api/v1/users/imports", { fileId });
    const cancelled = await admin.post(`/api/v1/jobs/${await jobOf(body.importId)}/cancel`);
    assert.equal(cancelled.status, 200, JSON.stringify(cancelled.body));
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
  assert.deepEqual(await columnsWith(sql, [email]), []);
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
    const fileId = await importing.file(admin, "email\nlate@example.test\n");
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
