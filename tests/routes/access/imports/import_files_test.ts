import assert from "node:assert/strict";
import { setupShared } from "../../../support/setup.ts";
import { refused } from "../answers.ts";
import { newUser } from "../users.ts";
import { counts, IMPORTER, Importing, newEmail } from "./importing.ts";

const t = await setupShared();
Deno.test.afterAll(() => t.stop());
const importing = new Importing(t);
const importer = await t.actor({ permissions: [...IMPORTER, "purge:files"] });
const byEmail = async (email: string) =>
  (await importer.get(`/api/v1/users/by-email/${encodeURIComponent(email)}`)).body;

Deno.test("the usual content types of CSV files are accepted", async () => {
  const types = [
    "text/csv; charset=utf-8",
    "application/csv",
    "text/x-csv",
    "application/x-csv",
    "text/comma-separated-values",
    "text/x-comma-separated-values",
    "application/vnd.ms-excel",
    "text/plain",
  ];
  for (const contentType of types) {
    const done = await importing.run(importer, `email\n${newEmail()}\n`, { contentType });
    assert.equal(done.created, 1, contentType);
  }
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
  const csv = `email,metadata\n${newEmail()},"{""id"":${LONG}}"\n${newEmail()},"{""id"":""${LONG}""}"\n`;
  const json =
    `[{"email":"${newEmail()}","metadata":{"id":${LONG}}},{"email":"${newEmail()}","metadata":{"id":1.50}}]`;
  for (const [content, contentType] of [[csv, "text/csv"], [json, "text/plain"]]) {
    const done = await importing.run(importer, content ?? "", { contentType: contentType ?? "" });
    assert.deepEqual(counts(done), { created: 1, updated: 0, unchanged: 0, failed: 1 });
    const lines = await importing.result(importer, done);
    assert.match(lines[0]?.[3] ?? "", new RegExp(`metadata.id: ${LONG} .*send it as a text`));
  }
});

Deno.test("names with control characters are refused everywhere", async () => {
  const bad = "Ana\r\nBcc: all";
  const admin = t.systemAdmin;
  const attempts = {
    "a user's name": () => admin.post("/api/v1/users", newUser({ firstName: bad })),
    "a user's last name": () => admin.post("/api/v1/admin/users", newUser({ lastName: "a\u0000b" })),
    "an invitation": () =>
      admin.post("/api/v1/users/invite", {
        email: newEmail(),
        roleIds: [admin.roleId],
        firstName: "a\u0007",
      }),
    "a role": () => admin.post("/api/v1/roles", { name: bad }),
    "a tenant": () => admin.post("/api/v1/tenants", { name: "a\tb", type: "Standard" }),
    "a client": () =>
      admin.post("/api/v1/oauth-clients", {
        name: "a\u0085b",
        kind: "confidential",
        redirectUris: [],
        audience: "x",
      }),
    "a service account": () =>
      admin.post("/api/v1/service-accounts", { name: bad, permissions: ["read:users"], tenants: "all" }),
    "a key": () => admin.post("/api/v1/api-keys", { name: bad, permissions: ["read:users"] }),
    "the own profile": () => admin.put("/api/v1/auth/me", { firstName: bad }),
  };
  for (const [what, attempt] of Object.entries(attempts)) {
    const { status, body } = await attempt();
    assert.deepEqual([status, body.code], [400, "VALIDATION_ERROR"], `${what}: ${JSON.stringify(body)}`);
  }
  const done = await importing.run(importer, `[{"email":"${newEmail()}","firstName":"a\\nb"}]`, {
    contentType: "text/plain",
  });
  assert.equal(done.failed, 1);
});

Deno.test("a file with a mistake as a whole imports nothing and says why", async () => {
  const email = newEmail();
  const utf16 = new Uint8Array([0xff, 0xfe, ...[..."email\n"].flatMap((c) => [c.charCodeAt(0), 0])]);
  const cases: [content: string, why: RegExp, contentType?: string][] = [
    [`email,password\n${email},secret of a user\n`, /plain passwords are not imported/],
    [`email,colour\n${email},red\n`, /unknown column "colour"; expected email, firstName/],
    [`email,tenantId\n${email},${importer.tenantId}\n`, /unknown column "tenantId"/],
    [`email,email\n${email},${email}\n`, /the column "email" twice/],
    [`"email\n${email}\n`, /header line cannot be read/],
    [`[{"email":"${email}"}`, /the JSON array has no end/, "text/plain"],
    [`[{"email":"${email}"}] more`, /text after the JSON array/, "text/plain"],
  ];
  for (const [content, why, contentType] of cases) {
    const done = await importing.run(importer, content, contentType ? { contentType } : {});
    assert.equal(done.status, "Failed", content);
    assert.match(done.error ?? "", why);
    assert.equal(done.resultFileId, null);
  }
  refused(await importer.get(`/api/v1/users/by-email/${email}`), 404, "USER_NOT_FOUND");
  const { id, status } = await importing.files.uploadAndScan(importer, {
    bytes: utf16,
    contentType: "text/csv",
  });
  if (status === "Available") {
    assert.match((await importing.start(importer, id)).error ?? "", /not UTF-8/);
  }
});

Deno.test("elements of a JSON file fail alone, and hostile ones stay data", async () => {
  const good = newEmail();
  const json = `[ 7, {"email": "${newEmail()}", "colour": 1}, {"email": broken}, [], {"email":"${newEmail()}",
    "password":"plain text password"}, {"email":"${newEmail()}","firstName":"a\\u0000"}, {"email":"${newEmail()}",
    "lastName":"a\\ud800"}, {"email":"${newEmail()}","isActive":"constructor"}, {"email":"${newEmail()}","x\\u0000y":1},
    {"email":"${newEmail()}","x\\ud800y":1}, {"email":"${good}","firstName":"a]b}\\"[","metadata":{"__proto__":{"x":1}}} ]`;
  const done = await importing.run(importer, json, { contentType: "text/plain" });
  assert.deepEqual(counts(done), { created: 1, updated: 0, unchanged: 0, failed: 10 });
  const reasons = (await importing.result(importer, done)).map(([, , , errors]) => errors);
  assert.match(reasons[1] ?? "", /colour/);
  assert.match(reasons[4] ?? "", /plain passwords are not imported/);
  assert.match(reasons[5] ?? "", /control characters/);
  assert.match(reasons[6] ?? "", /well-formed/);
  assert.match(reasons[7] ?? "", /isActive: expected true or false/);
  assert.match(`${reasons[8]}${reasons[9]}`, /"xy".*"x\ufffdy"/);
  const { firstName, metadata } = await byEmail(good);
  assert.equal(firstName, 'a]b}"[');
  assert.deepEqual(Object.keys(metadata), ["__proto__"]);
});

Deno.test("an element nested too deep fails alone, and the preview shows the others", async () => {
  const [first, last] = [newEmail(), newEmail()];
  const deep = (levels: number) => `${"[".repeat(levels)}${LONG}${"]".repeat(levels)}`;
  const elements = [
    `{"email":"${first}"}`,
    ...[11, 201, 5_000, 60_000].map((levels) => `{"email":"${newEmail()}","metadata":{"a":${deep(levels)}}}`),
    deep(60_000),
    `{"email":"${last}"}`,
  ];
  const fileId = await importing.file(importer, `[${elements.join(",")}]`, "text/plain");
  const started = await importer.post("/api/v1/users/imports", { fileId });
  const path = `/api/v1/users/imports/${started.body.importId}`;
  const preview = await importer.get(`${path}/preview`);
  assert.equal(preview.status, 200, JSON.stringify(preview.body));
  assert.equal(preview.body.rows[0].values.email, first);
  const done = await importing.finished(importer, path);
  assert.deepEqual(counts(done), { created: 2, updated: 0, unchanged: 0, failed: 5 });
  const errors = (await importing.result(importer, done)).slice(1, 6).map(([, , , error]) => error);
  assert.match(errors[0] ?? "", /^metadata: expected at most 10 levels|^metadata\.a/);
  assert.deepEqual(errors.slice(1, 4), Array(3).fill("expected an object at most 200 levels deep"));
  assert.equal(errors[4], "expected a JSON object");
});

Deno.test("100,000 rows are allowed; one more imports nothing", async () => {
  const done = await importing.run(importer, `email\n${"x\n".repeat(100_001)}`);
  assert.deepEqual([done.status, done.error], ["Failed", "the file has more than 100000 rows"]);
  const dry = await importing.run(importer, `email\n${"x\n".repeat(100_000)}`, { dryRun: true });
  assert.deepEqual([dry.status, dry.total, dry.failed], ["Completed", 100_000, 100_000]);
});

Deno.test("a cell without an end costs one row, not the rest of the file", async () => {
  const last = newEmail();
  const csv = `email,firstName\n"${newEmail()},x\n${newEmail()},y\n${newEmail()},${
    "z".repeat(200_000)
  }\n${last},A\n`;
  const done = await importing.run(importer, csv);
  assert.deepEqual(counts(done), { created: 2, updated: 0, unchanged: 0, failed: 2 });
  assert.equal((await byEmail(last)).firstName, "A");
});

Deno.test("cells of the result file that look like formulas are neutralised", async () => {
  const done = await importing.run(importer, `email\n"=HYPERLINK(""http://evil.example"")"\n@SUM(A1)\n`);
  const text = await importing.resultText(importer, done.resultFileId ?? "");
  assert.match(text, /^\ufeffrow,email,outcome,errors\r\n1,"'=HYPERLINK/);
  assert.match(text, /\r\n2,'@SUM\(A1\),Failed,/);
});
