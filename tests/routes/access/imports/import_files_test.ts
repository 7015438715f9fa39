import assert from "node:assert/strict";
import { setupShared } from "../../../support/setup.ts";
import { refused } from "../answers.ts";
import { newEmail, newUser } from "../users.ts";
import { IMPORTER, Importing } from "./importing.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const importing = new Importing(t);
const importer = await t.actor({ permissions: [...IMPORTER, "purge:files"] });

Deno.test("the usual content types of CSV files are accepted", async () => {
  const types = [
    ...["text/csv; charset=utf-8", "application/csv", "text/x-csv", "application/x-csv", "text/plain"],
    ...["text/comma-separated-values", "text/x-comma-separated-values", "application/vnd.ms-excel"],
  ];
  await Promise.all(types.map((type) => importing.file(importer, `email\n${newEmail()}\n`, type)));
});

Deno.test("a result ends after 30 days, and both files can be purged earlier, once the import is over", async () => {
  const fileId = await importing.file(importer, `email\n${newEmail()}\n`);
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
