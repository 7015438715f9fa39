import assert from "node:assert/strict";
import { has } from "../../../support/answers.ts";
import { setupShared } from "../../../support/setup.ts";
import { until } from "../../../support/until.ts";
import { refused } from "../answers.ts";
import { newEmail, newUser } from "../users.ts";
import { BCRYPT } from "./hashes.ts";
import { IMPORTER, Importing } from "./importing.ts";

const t = await setupShared();
const importing = new Importing(t);
const importer = await t.actor({ permissions: [...IMPORTER, "purge:files"] });

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

Deno.test("the result of an import into several tenants is seen only by who started it", async () => {
  const permissions = [...IMPORTER, "manage:all-users"];
  const starter = await t.actor({ tenantId: t.platformTenantId, permissions });
  const colleague = await t.actor({ tenantId: t.platformTenantId, permissions: ["read:files"] });
  const email = newEmail();
  const csv = `tenantId,email\n${importer.tenantId},${email}\n`;
  const done = await importing.run(starter, csv, { admin: true });
  assert.equal(done.created, 1);
  assert.deepEqual((await importing.result(starter, done))[0]?.slice(1, 3), [email, "Created"]);
  for (const path of ["", "/download-url"]) {
    refused(await colleague.get(`/api/v1/files/${done.resultFileId}${path}`), 404, "FILE_NOT_FOUND");
  }
  const listed = (await colleague.get("/api/v1/files?pageSize=100")).body.items;
  assert.ok(!listed.some(({ id }: { id: string }) => id === done.resultFileId));
});

const LONG = "12345678901234567890";
const bodyWith = (metadata: string, more: Record<string, unknown> = newUser()) =>
  `${JSON.stringify(more).slice(0, -1)}${Object.keys(more).length > 0 ? "," : ""}"metadata":${metadata}}`;

Deno.test("metadata with numbers that would lose digits is refused with their path", async () => {
  const headers = { authorization: `Bearer ${importer.token}`, "content-type": "application/json" };
  const send = async (method: string, path: string, body: string, by = headers) => {
    const response = await fetch(t.url + path, { method, headers: by, body });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  const kept = await send(
    "POST",
    "/api/v1/users",
    bodyWith('{"a":1.0,"b":1e3,"c":0.1,"d":9007199254740991,"e":-0}'),
  );
  assert.equal(kept.status, 201, JSON.stringify(kept.body));
  assert.deepEqual(kept.body.metadata, { a: 1, b: 1000, c: 0.1, d: 9007199254740991, e: 0 });
  const { id } = kept.body;
  const admin = { ...headers, authorization: `Bearer ${t.systemAdmin.token}` };
  const attempts = [
    (metadata: string) => send("POST", "/api/v1/users", bodyWith(metadata)),
    (metadata: string) => send("PUT", `/api/v1/users/${id}`, bodyWith(metadata, {})),
    (metadata: string) => send("POST", "/api/v1/admin/users", bodyWith(metadata), admin),
    (metadata: string) => send("PUT", `/api/v1/admin/users/${id}`, bodyWith(metadata, {}), admin),
  ];
  for (const attempt of attempts) {
    for (const [metadata, path] of [[`{"crm":{"ids":[1,${LONG}]}}`, "crm.ids.1"], ['{"n":1e999}', "n"]]) {
      const answer = await attempt(metadata ?? "");
      refused(answer, 400, "VALIDATION_ERROR");
      assert.match(JSON.stringify(answer.body.errors), new RegExp(`metadata.${path}: .*send it as a text`));
    }
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

Deno.test("a preview of 120 failed rows names the first 100 and the members of a JSON file", async () => {
  const rows = Array.from({ length: 120 }, (_, n) => ({ email: `bad ${n}`, metadata: { n } }));
  const done = await importing.run(importer, JSON.stringify(rows), {
    dryRun: true,
    contentType: "text/plain",
  });
  const { body } = await until(() => importer.get(previewOf(done)), ({ body }) => body.isComplete);
  assert.deepEqual(body.columns, ["email", "metadata"]);
  assert.equal(body.rows.length, 10);
  assert.deepEqual(body.rows[3].values, { email: "bad 3", metadata: '{"n":3}' });
  assert.equal(body.failures.length, 100);
  assert.equal(body.failures[99].row, 100);
});
