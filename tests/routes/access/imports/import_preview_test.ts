import assert from "node:assert/strict";
import { setupShared } from "../../../support/setup.ts";
import { until } from "../../../support/until.ts";
import { refused } from "../answers.ts";
import { newEmail } from "../users.ts";
import { BCRYPT } from "./hashes.ts";
import { IMPORTER, Importing } from "./importing.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const importing = new Importing(t);

Deno.test("after a dry run the preview shows the columns, the first rows and the failed rows; nothing is written", async () => {
  const importer = await t.actor({ permissions: IMPORTER });
  const email = newEmail();
  const csv = `email,firstName,passwordHash\n${email},Ana,${BCRYPT}\nnot-an-email,Bo,\n${email},Twice,\n`;
  const done = await importing.run(importer, csv, { dryRun: true });
  const path = `/api/v1/users/imports/${done.id}/preview`;
  const { body } = await until(() => importer.get(path), ({ body }) => body.isComplete);
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
});

Deno.test("a preview of 120 failed rows names the first 100 and the members of a JSON file", async () => {
  const importer = await t.actor({ permissions: IMPORTER });
  const rows = Array.from({ length: 120 }, (_, n) => ({ email: `bad ${n}`, metadata: { n } }));
  const done = await importing.run(importer, JSON.stringify(rows), {
    dryRun: true,
    contentType: "text/plain",
  });
  const path = `/api/v1/users/imports/${done.id}/preview`;
  const { body } = await until(() => importer.get(path), ({ body }) => body.isComplete);
  assert.deepEqual(body.columns, ["email", "metadata"]);
  assert.equal(body.rows.length, 10);
  assert.deepEqual(body.rows[3].values, { email: "bad 3", metadata: '{"n":3}' });
  assert.equal(body.failures.length, 100);
  assert.equal(body.failures[99].row, 100);
});

Deno.test("rows are shown to who started the import and to readers of files, without files that have ended", async () => {
  const importer = await t.actor({ permissions: [...IMPORTER, "purge:files"] });
  const done = await importing.run(importer, `email\n${newEmail()}\n`, { dryRun: true });
  const path = `/api/v1/users/imports/${done.id}/preview`;
  const tenantId = importer.tenantId ?? "";
  refused(await (await t.actor({ tenantId, permissions: ["create:users"] })).get(path), 403, "FORBIDDEN");
  const reader = await t.actor({ tenantId, permissions: ["create:users", "read:files"] });
  const { body } = await until(() => reader.get(path), ({ body }) => body.isComplete);
  assert.equal(body.rows.length, 1);
  const { fileId } = (await importer.get(`/api/v1/users/imports/${done.id}`)).body;
  for (const id of [fileId, done.resultFileId]) {
    assert.equal((await importer.post(`/api/v1/files/${id}/purge`, { reason: "imported" })).status, 200);
  }
  const later = (await importer.get(path)).body;
  assert.deepEqual([later.rows, later.failures, later.isComplete], [[], [], false]);
});
