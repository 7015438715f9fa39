import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { ObjectStoreUnavailable } from "../../../infra/objectstore/objectstore.ts";
import { eicar, noise } from "../../support/content.ts";
import { setupShared } from "../../support/setup.ts";
import {
  compoundFile,
  gif,
  gzip,
  join,
  jpeg,
  officeParts,
  openDocument,
  pdf,
  png,
  utf8,
  webp,
  zip,
} from "../../support/samples.ts";
import { ALL, aPdf, Uploading } from "./uploading.ts";

const t = await setupShared({}, { inThisProcess: true });
Deno.test.afterAll(() => t.stop());
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const { sql, objects } = t.steward.platform;

Deno.test("a file is reserved, uploaded, confirmed, scanned, and downloaded unchanged", async () => {
  const reserved = await actor.post("/api/v1/files", {
    profile: "Document".toLowerCase(),
    fileName: "Quartal übersicht.pdf",
    contentType: "application/pdf",
    sizeBytes: pdf().length,
  });
  assert.equal(reserved.status, 201);
  assert.deepEqual(Object.keys(reserved.body).sort(), [
    "fileId",
    "requiredHeaders",
    "uploadExpiresAt",
    "uploadUrl",
  ]);
  assert.equal(reserved.headers.get("location"), `/api/v1/files/${reserved.body.fileId}`);
  const path = `/api/v1/files/${reserved.body.fileId}`;
  assert.equal((await actor.get(path)).body.status, "Pending");
  assert.equal(await files.put(reserved.body, pdf()), 200);

  const completed = await actor.post(`${path}/complete`);
  assert.equal(completed.status, 200);
  assert.equal(completed.body.status, "Scanning");
  assert.equal(completed.body.sha256, null);
  const record = await files.scanned(actor, reserved.body.fileId);
  assert.equal(record.status, "Available");
  assert.equal(record.sha256, sha256(pdf()));
  assert.equal(record.detectedContentType, "application/pdf");
  assert.equal(record.tenantId, actor.tenantId);
  assert.equal(record.createdBy, actor.userId);
  assert.equal(record.retentionClass, "Standard");
  assert.ok(record.availableAt && record.completedAt);

  const download = await actor.get(`${path}/download-url`);
  assert.equal(download.status, 200);
  const content = await fetch(download.body.url);
  assert.equal(content.headers.get("content-type"), "application/octet-stream");
  assert.match(
    content.headers.get("content-disposition") ?? "",
    /^attachment;.*filename\*=UTF-8''Quartal%20/,
  );
  assert.deepEqual(new Uint8Array(await content.arrayBuffer()), pdf());

  const attempts = await actor.get(`${path}/scan-attempts`);
  assert.equal(attempts.body.length, 1);
  assert.equal(attempts.body[0].verdict, "Clean");
  assert.match(attempts.body[0].engine, /^YARA-X /);
  assert.equal((await actor.post(`${path}/complete`)).body.status, "Available");
});

Deno.test("an infected upload ends Infected: content deleted, hash and signature kept, never downloadable", async () => {
  const record = await files.uploadAndScan(actor, { bytes: eicar() });
  assert.equal(record.status, "Infected");
  assert.equal(record.sha256, sha256(eicar()));
  assert.equal(record.signatureName, "Eicar_Test_File");
  const path = `/api/v1/files/${record.id}`;
  assert.equal((await actor.get(`${path}/download-url`)).body.code, "FILE_INFECTED_CONFLICT");
  assert.equal((await actor.post(`${path}/complete`)).body.code, "FILE_INFECTED_CONFLICT");
  assert.equal((await actor.get(`${path}/scan-attempts`)).body[0].verdict, "Infected");
  const [row] = await sql<
    { stagingKey: string; finalKey: string }[]
  >`select staging_key, final_key from files where id = ${record.id}`;
  assert.equal(await objects.head(row?.stagingKey ?? ""), null);
  assert.equal(await objects.head(row?.finalKey ?? ""), null);
  await isAudited(record, "file.infected", { status: "Infected", signatureName: "Eicar_Test_File" });
});

Deno.test("a type outside the profile ends Purged with reason and code", async () => {
  const disguised = { bytes: noise(3000), profile: "image", contentType: "image/png", fileName: "x.png" };
  const record = await files.uploadAndScan(actor, disguised);
  assert.equal(record.status, "Purged");
  assert.equal(record.purgeReason, "job:tipo-reprovado");
  assert.equal(record.rejectionCode, "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE");
  assert.equal(record.sha256, sha256(noise(3000)));
  assert.equal(record.purgedBy, null);
  const refused = await actor.get(`/api/v1/files/${record.id}/download-url`);
  assert.equal(refused.status, 409);
  assert.equal(refused.body.code, "FILE_PURGED_CONFLICT");
  assert.match(refused.body.detail, /job:tipo-reprovado/);
  assert.ok(refused.body.detail.includes(record.purgedAt));
  assert.deepEqual(refused.body.errors.rejectionCode, ["FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE"]);
  assert.equal((await actor.get(`/api/v1/files/${record.id}/scan-attempts`)).body[0].verdict, "TypeRejected");
  await isAudited(record, "file.purge", {
    status: "Purged",
    reason: "job:tipo-reprovado",
    rejectionCode: "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE",
  });
});

/** The service's own decision is in the audit log of the file's tenant, once and without an actor. */
async function isAudited(
  file: { id: string; tenantId: string },
  action: string,
  after: unknown,
): Promise<void> {
  const { body } = await t.systemAdmin.get(`/api/v1/audit-log?targetId=${file.id}&action=${action}`);
  assert.deepEqual(
    body.items.map((row: Record<string, unknown>) => [row.actorId, row.tenantId, row.after]),
    [[null, file.tenantId, after]],
  );
}

Deno.test("the storage itself rejects an upload with another size or type than reserved", async () => {
  const reservation = await files.reserve(actor, aPdf);
  const longer = new Uint8Array([...pdf(), 0]);
  const send = (headers: Record<string, string>, body: Uint8Array<ArrayBuffer>) =>
    fetch(reservation.uploadUrl, { method: "PUT", headers, body }).then(async (response) => {
      await response.body?.cancel();
      return response.status;
    });
  assert.equal(await send({ "content-type": "application/pdf" }, longer), 403);
  assert.equal(await send({ "content-type": "text/html" }, new Uint8Array(pdf())), 403);
  const refused = await actor.post(`/api/v1/files/${reservation.fileId}/complete`);
  assert.equal(refused.body.code, "FILE_NOT_UPLOADED_CONFLICT");
});

Deno.test("an upload of another size is discarded at confirmation and leaves a tombstone", async () => {
  const { fileId } = await files.reserve(actor, aPdf);
  const [row] = await sql<{ stagingKey: string }[]>`select staging_key from files where id = ${fileId}`;
  const key = row?.stagingKey ?? "";
  await objects.write(key, new Blob(["too short"]).stream(), { contentType: "text/plain" });
  const answers = await Promise.all([1, 2, 3].map(() => actor.post(`/api/v1/files/${fileId}/complete`)));
  assert.equal(answers.filter((answer) => answer.status === 422).length, 1, "the discarding happens once");
  for (const { status, body } of answers) {
    assert.equal(body.code, status === 422 ? "FILE_SIZE_MISMATCH_UNPROCESSABLE" : "FILE_PURGED_CONFLICT");
  }
  assert.equal(await objects.head(key), null);
  const { body } = await actor.get(`/api/v1/files/${fileId}`);
  assert.equal(body.status, "Purged");
  assert.equal(body.purgeReason, "job:size-mismatch");
  assert.equal(body.rejectionCode, "FILE_SIZE_MISMATCH_UNPROCESSABLE");
  await isAudited(body, "file.purge", {
    status: "Purged",
    reason: "job:size-mismatch",
    rejectionCode: "FILE_SIZE_MISMATCH_UNPROCESSABLE",
  });
});

Deno.test("confirming an expired reservation is rejected, before and after the sweep", async () => {
  const { fileId } = await files.reserveAndPut(actor, aPdf);
  const complete = () => actor.post(`/api/v1/files/${fileId}/complete`);
  await sql`update files set upload_expires_at = now() - interval '1 second' where id = ${fileId}`;
  assert.equal((await complete()).body.code, "FILE_UPLOAD_EXPIRED_CONFLICT");
  await sql`update files set status = 'Purged', purge_reason = 'job:upload-expired', purged_at = now()
    where id = ${fileId}`;
  const { status, body } = await complete();
  assert.deepEqual([status, body.code], [409, "FILE_UPLOAD_EXPIRED_CONFLICT"]);
});

Deno.test("simultaneous reservations are stored with their own values", async () => {
  const other = await t.actor({ permissions: ALL });
  const asked = Array.from({ length: 24 }, (_, index) => ({
    profile: "document",
    fileName: `Ü "${index}" \\ {a,b}.pdf`,
    contentType: "application/pdf",
    sizeBytes: index === 7 ? -1 : 1_000 + index,
  }));
  const answers = await Promise.all(
    asked.map((body, index) => (index % 2 ? other : actor).post("/api/v1/files", body)),
  );
  for (const [index, { status, body }] of answers.entries()) {
    assert.equal(status, index === 7 ? 400 : 201);
    if (status !== 201) continue;
    const { body: file } = await (index % 2 ? other : actor).get(`/api/v1/files/${body.fileId}`);
    assert.deepEqual([file.fileName, file.sizeBytes], [asked[index]?.fileName, asked[index]?.sizeBytes]);
    const [key] = await sql<{ url: string }[]>`
      select o.key as url from file_objects o join files f on f.staging_key = o.key and f.id = o.file_id
      where f.id = ${body.fileId}`;
    assert.ok(body.uploadUrl.includes(key?.url ?? "no key"), "the URL leads to its own object");
  }
});

Deno.test("ten simultaneous confirmations start one scan", async () => {
  const { fileId } = await files.reserveAndPut(actor, aPdf);
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => actor.post(`/api/v1/files/${fileId}/complete`)),
  );
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
  const jobs = await sql`select from jobs where serialized_args like ${`%${fileId}%`}`;
  assert.equal(jobs.length, 1);
  await files.scanned(actor, fileId);
});

Deno.test("an upload URL used again after confirmation changes nothing that anyone can read", async () => {
  const clean = png();
  const content = { bytes: clean, profile: "image", contentType: "image/png" };
  const reservation = await files.upload(actor, content);
  const record = await files.scanned(actor, reservation.fileId);
  assert.equal(record.sha256, sha256(clean));
  const evil = new Uint8Array(clean);
  evil.set(utf8("<script>"), 100);
  assert.equal(await files.put(reservation, evil), 200, "storage knows nothing of states");
  const { body } = await actor.get(`/api/v1/files/${reservation.fileId}/download-url`);
  const served = new Uint8Array(await (await fetch(body.url)).arrayBuffer());
  assert.equal(sha256(served), sha256(clean));
  assert.deepEqual((await actor.post(`/api/v1/files/${reservation.fileId}/complete`)).body, record);
});

const good = { profile: "document", fileName: "a.pdf", contentType: "application/pdf", sizeBytes: 10 };
const reservations: [name: string, change: Record<string, unknown>, status: number, code: string][] = [
  ["no profile", { profile: undefined }, 400, "VALIDATION_ERROR"],
  ["no name", { fileName: "" }, 400, "VALIDATION_ERROR"],
  ["a blank name", { fileName: " \n" }, 400, "VALIDATION_ERROR"],
  ["a name that is too long", { fileName: "x".repeat(1025) }, 400, "VALIDATION_ERROR"],
  ["a name with NUL", { fileName: "a\0b" }, 400, "VALIDATION_ERROR"],
  ["half a surrogate pair", { fileName: "\ud83d" }, 400, "VALIDATION_ERROR"],
  ["a type no header carries", { contentType: "text/plain;\r\nx: y" }, 400, "VALIDATION_ERROR"],
  ["no size", { sizeBytes: undefined }, 400, "VALIDATION_ERROR"],
  ["no byte", { sizeBytes: 0 }, 400, "VALIDATION_ERROR"],
  ["a negative size", { sizeBytes: -1 }, 400, "VALIDATION_ERROR"],
  ["half a byte", { sizeBytes: 1.5 }, 400, "VALIDATION_ERROR"],
  ["a size as text", { sizeBytes: "10" }, 400, "VALIDATION_ERROR"],
  ["a body mistake and a product", { sizeBytes: 0, isProduct: true }, 400, "VALIDATION_ERROR"],
  ["a product and a bad profile", { isProduct: true, profile: "x" }, 403, "MISSING_PERMISSION"],
  ["a product", { isProduct: true }, 403, "MISSING_PERMISSION"],
  [
    "an unknown profile, bad type and size",
    { profile: "x", contentType: "a/b" },
    400,
    "FILE_PROFILE_UNKNOWN",
  ],
  ["a property of every object", { profile: "constructor" }, 400, "FILE_PROFILE_UNKNOWN"],
  ["the service's own profile", { profile: "report" }, 400, "FILE_PROFILE_UNKNOWN"],
  [
    "a bad type and size",
    { contentType: "image/png", sizeBytes: 1e12 },
    422,
    "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE",
  ],
  ["one byte over the ceiling", { sizeBytes: 52_428_801 }, 422, "FILE_TOO_LARGE_UNPROCESSABLE"],
];

for (const [name, change, status, code] of reservations) {
  Deno.test(`a reservation with ${name} is rejected with ${code}`, async () => {
    const answer = await actor.post("/api/v1/files", { ...good, ...change });
    assert.deepEqual([answer.status, answer.body.code], [status, code]);
    if (code === "FILE_TOO_LARGE_UNPROCESSABLE") assert.match(answer.body.detail, /52428800/);
  });
}

Deno.test("the maximum size and a type with parameters can be reserved", async () => {
  assert.equal((await actor.post("/api/v1/files", { ...good, sizeBytes: 52_428_800 })).status, 201);
  const csv = await actor.post("/api/v1/files", { ...good, contentType: "Text/CSV; charset=iso-8859-1" });
  assert.equal(csv.status, 201);
});

const names = [
  'quote".txt',
  "line\r\nbreak.txt",
  "invoice\u202efdp.exe",
  "emoji 🧾 ß 漢字.txt",
  "語".repeat(300) + ".txt",
  "../../etc/passwd",
  "a;b=c'd(e)*.txt",
];
for (const fileName of names) {
  Deno.test(`a file called ${JSON.stringify(fileName.slice(0, 30))} comes back under a safe name`, async () => {
    const record = await files.uploadAndScan(actor, { bytes: utf8("text"), fileName });
    assert.equal(record.status, "Available");
    assert.equal(record.fileName, fileName);
    const { body } = await actor.get(`/api/v1/files/${record.id}/download-url`);
    const response = await fetch(body.url);
    assert.equal(await response.text(), "text");
    assert.match(
      response.headers.get("content-disposition") ?? "",
      /^attachment; filename="[^"]+"; filename\*=UTF-8''/,
    );
  });
}

Deno.test("a system administrator with the file permission reserves a product file; every tenant can read it", async () => {
  const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId: t.platformTenantId });
  const record = await files.uploadAndScan(admin, { ...aPdf, isProduct: true });
  assert.equal(record.tenantId, null);
  assert.equal((await actor.get(`/api/v1/files/${record.id}`)).status, 200);
  assert.equal((await actor.get(`/api/v1/files/${record.id}/download-url`)).status, 200);
});

Deno.test("admin:system alone gives no access to file routes", async () => {
  const id = crypto.randomUUID();
  const calls = [
    t.systemAdmin.post("/api/v1/files", good),
    t.systemAdmin.post(`/api/v1/files/${id}/complete`),
    t.systemAdmin.get(`/api/v1/files/${id}`),
    t.systemAdmin.get(`/api/v1/files/${id}/download-url`),
    t.systemAdmin.get(`/api/v1/files/${id}/scan-attempts`),
    t.systemAdmin.post(`/api/v1/files/${id}/references`, {}),
    t.systemAdmin.delete(`/api/v1/files/${id}/references/${id}`),
    t.systemAdmin.put(`/api/v1/files/${id}/retention`, {}),
    t.systemAdmin.post(`/api/v1/files/${id}/purge`, {}),
    t.systemAdmin.get("/api/v1/files/scanner-status"),
  ];
  for (const { status, body } of await Promise.all(calls)) {
    assert.deepEqual([status, body.code], [403, "MISSING_PERMISSION"]);
  }
  for (const { status } of await Promise.all(ALL.map((_, i) => t.nobody.get(`/api/v1/files/${id}?${i}`)))) {
    assert.equal(status, 401);
  }
});

Deno.test("a confirmation is answered 503 while the storage does not answer, and can be repeated", async () => {
  const { fileId } = await files.reserveAndPut(actor, aPdf);
  const putBack = t.replace((p) => p.objects, {
    head: () => Promise.reject(new ObjectStoreUnavailable("no answer")),
  });
  const { status, body } = await actor.post(`/api/v1/files/${fileId}/complete`).finally(putBack);
  assert.deepEqual([status, body.code], [503, "FILE_STORAGE_UNAVAILABLE"]);
  assert.equal((await actor.post(`/api/v1/files/${fileId}/complete`)).status, 200);
});

const ooxml = "application/vnd.openxmlformats-officedocument.";
const docx = `${ooxml}wordprocessingml.document`;
const honest: [name: string, profile: string, contentType: string, bytes: Uint8Array][] = [
  ["png", "image", "image/png", png()],
  ["jpeg", "image", "image/jpeg", jpeg],
  ["webp", "image", "image/webp", webp],
  ["gif", "image", "image/gif", gif],
  ["jpeg called png", "image", "image/png", jpeg],
  ["docx", "document", docx, zip(officeParts("wordprocessingml.document", "word/document.xml"))],
  ["odt", "document", "application/vnd.oasis.opendocument.text", openDocument("text")],
  ["doc", "document", "application/msword", compoundFile(["WordDocument"])],
  ["csv", "document", "text/csv", utf8("a,b\n1,2\n")],
  ["csv in latin-1", "document", "text/csv; charset=iso-8859-1", Uint8Array.of(0x61, 0xe9, 0x2c, 0x62, 0x0a)],
  ["one byte of text", "document", "text/plain", utf8("x")],
  ["zip", "archive", "application/zip", zip([["a.txt", "text"]])],
  ["gzip", "archive", "application/gzip", gzip(utf8("text"))],
];
const disguised: typeof honest = [
  ["an ELF program as pdf", "document", "application/pdf", join(utf8("\x7fELF\x02\x01\x01"), noise(400))],
  ["a DOS program as png", "image", "image/png", join(utf8("MZ"), noise(400))],
  ["html as png", "image", "image/png", utf8("<!doctype html><script>alert(1)</script>")],
  ["svg as gif", "image", "image/gif", utf8('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')],
  ["html as text", "document", "text/plain", utf8("<html><body>hello</body></html>")],
  ["a plain zip as docx", "document", docx, zip([["a.txt", "text"]])],
  ["a gif that is a zip too", "image", "image/gif", join(gif, zip([["a.txt", "text"]]))],
  ["a png that is a pdf too", "image", "image/png", png(["tEXt", utf8("%PDF-1.4")])],
  ["text with NUL", "document", "text/plain", utf8("a\0b")],
  ["text as zip", "archive", "application/zip", utf8("not a zip")],
];
for (const [corpus, expected] of [[honest, "Available"], [disguised, "Purged"]] as const) {
  for (const [name, profile, contentType, bytes] of corpus) {
    Deno.test(`${name}, uploaded to ${profile}, ends ${expected}`, async () => {
      const record = await files.uploadAndScan(actor, { bytes, profile, contentType });
      assert.equal(record.status, expected, record.detectedContentType);
      assert.equal(record.sha256, sha256(bytes));
    });
  }
}
