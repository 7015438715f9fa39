import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { collectExpired, expireReservations } from "../../../domain/files/sweeps.ts";
import { connectObjectStore } from "../../../infra/objectstore/objectstore.ts";
import { has, pluck } from "../../support/answers.ts";
import { eicar, noise } from "../../support/content.ts";
import { accepted, refused } from "../../support/outcomes.ts";
import { compoundFile, join, pdf, utf8, zip } from "../../support/samples.ts";
import { setupShared } from "../../support/setup.ts";
import { ALL, aPdf, Uploading } from "./uploading.ts";

const t = await setupShared({}, { inThisProcess: true });
const files = new Uploading(t);
const actor = await t.actor({ permissions: ALL });
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const { sql, objects } = t.platform;

const good = { profile: "document", fileName: "a.pdf", contentType: "application/pdf", sizeBytes: 10 };
const reserve = (change: Record<string, unknown>) => actor.post("/api/v1/files", { ...good, ...change });
const recordOf = async (id: string) => (await actor.get(`/api/v1/files/${id}`)).body;
const complete = (id: string) => actor.post(`/api/v1/files/${id}/complete`);
const downloadOf = (id: string) => actor.get(`/api/v1/files/${id}/download-url`);
const verdictsOf = async (id: string) =>
  pluck((await actor.get(`/api/v1/files/${id}/scan-attempts`)).body, "verdict");
async function keysOf(id: string): Promise<string[]> {
  const [row] = await sql<{ stagingKey: string; finalKey: string | null }[]>`
    select staging_key, final_key from files where id = ${id}`;
  return [row?.stagingKey ?? "", row?.finalKey ?? ""];
}
/** The service's own decision is in the audit log of the file's tenant, once and without an actor. */
async function isAudited(
  file: { id: string; tenantId: string },
  action: string,
  after: unknown,
): Promise<void> {
  const { body } = await t.systemAdmin.get(`/api/v1/audit-log?targetId=${file.id}&action=${action}`);
  assert.deepEqual(pluck(body.items, "actorId", "tenantId", "after"), [[null, file.tenantId, after]]);
}

Deno.test("a file is reserved, uploaded, confirmed, scanned, and downloaded unchanged", async () => {
  const reserved = await reserve({ fileName: "Quartal übersicht.pdf", sizeBytes: pdf().length });
  const { fileId, ...others } = await accepted(reserved, 201);
  assert.deepEqual(Object.keys(others).sort(), ["requiredHeaders", "uploadExpiresAt", "uploadUrl"]);
  assert.equal(reserved.headers.get("location"), `/api/v1/files/${fileId}`);
  assert.equal((await recordOf(fileId)).status, "Pending");
  assert.equal(await files.put(reserved.body, pdf()), 200);

  has(await accepted(complete(fileId)), { status: "Scanning", sha256: null });
  const record = await files.scanned(actor, fileId);
  has(record, {
    status: "Available",
    sha256: sha256(pdf()),
    detectedContentType: "application/pdf",
    tenantId: actor.tenantId,
    createdBy: actor.userId,
    retentionClass: "Standard",
  });
  assert.ok(record.availableAt && record.completedAt);

  const content = await fetch((await accepted(downloadOf(fileId))).url);
  assert.equal(content.headers.get("content-type"), "application/octet-stream");
  const disposition = content.headers.get("content-disposition") ?? "";
  assert.match(disposition, /^attachment;.*filename\*=UTF-8''Quartal%20/);
  assert.deepEqual(await content.bytes(), pdf());
  const attempts = (await actor.get(`/api/v1/files/${fileId}/scan-attempts`)).body;
  assert.deepEqual(pluck(attempts, "verdict"), ["Clean"]);
  assert.match(attempts[0].engine, /^YARA-X /);
  assert.equal((await complete(fileId)).body.status, "Available");
});

Deno.test("an infected upload ends Infected: content deleted, hash and signature kept, never downloadable", async () => {
  const record = await files.uploadAndScan(actor, { bytes: eicar() });
  const { id } = record;
  has(record, { status: "Infected", sha256: sha256(eicar()), signatureName: "Eicar_Test_File" });
  await refused("409 FILE_INFECTED_CONFLICT", downloadOf(id), complete(id));
  assert.deepEqual(await verdictsOf(id), ["Infected"]);
  for (const key of await keysOf(id)) assert.equal(await objects.head(key), null);
  await isAudited(record, "file.infected", { status: "Infected", signatureName: "Eicar_Test_File" });
});

const TYPE_REJECTED = "FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE";
Deno.test("a type outside the profile ends Purged with reason and code", async () => {
  const disguised = { bytes: noise(3000), profile: "image", contentType: "image/png", fileName: "x.png" };
  const record = await files.uploadAndScan(actor, disguised);
  has(record, {
    status: "Purged",
    purgeReason: "job:tipo-reprovado",
    rejectionCode: TYPE_REJECTED,
    sha256: sha256(noise(3000)),
    purgedBy: null,
  });
  const answer = await downloadOf(record.id);
  await refused("409 FILE_PURGED_CONFLICT", answer);
  assert.match(answer.body.detail, /job:tipo-reprovado/);
  assert.ok(answer.body.detail.includes(record.purgedAt));
  assert.deepEqual(answer.body.errors.rejectionCode, [TYPE_REJECTED]);
  assert.deepEqual(await verdictsOf(record.id), ["TypeRejected"]);
  const after = { status: "Purged", reason: "job:tipo-reprovado", rejectionCode: TYPE_REJECTED };
  await isAudited(record, "file.purge", after);
  const nul = zip([["[Content_Types].xml", '<x ContentType="a\0.main+xml"/>'], ["_rels/.rels", "x"]]);
  for (const bytes of [compoundFile(["constructor"]), nul]) {
    has(await files.uploadAndScan(actor, { bytes }), { status: "Purged", rejectionCode: TYPE_REJECTED });
  }
});

Deno.test("the storage itself rejects an upload with another size or type than reserved", async () => {
  const reservation = await files.reserve(actor, aPdf);
  const asHtml = { ...reservation, requiredHeaders: { "content-type": "text/html" } };
  for (const bytes of [join(pdf(), utf8("x")), pdf().slice(1), new Uint8Array()]) {
    assert.equal(await files.put(reservation, bytes), 403);
  }
  assert.equal(await files.put(asHtml, pdf()), 403);
  await refused("409 FILE_NOT_UPLOADED_CONFLICT", complete(reservation.fileId));
});

Deno.test("confirming an expired reservation is rejected, before and after the sweep", async () => {
  const { fileId } = await files.reserveAndPut(actor, aPdf);
  await sql`update files set upload_expires_at = now() - interval '1 second' where id = ${fileId}`;
  await refused("409 FILE_UPLOAD_EXPIRED_CONFLICT", complete(fileId));
  await expireReservations(p);
  await refused("409 FILE_UPLOAD_EXPIRED_CONFLICT", complete(fileId));
});

Deno.test("an upload of another size is discarded at confirmation and leaves a tombstone", async () => {
  const { fileId } = await files.reserve(actor, aPdf);
  const [key = ""] = await keysOf(fileId);
  await objects.write(key, new Blob(["too short"]).stream(), { contentType: "text/plain" });
  const answers = await Promise.all([1, 2, 3].map(() => complete(fileId)));
  const codes = pluck(pluck(answers, "body"), "code").sort();
  const rejectionCode = "FILE_SIZE_MISMATCH_UNPROCESSABLE";
  assert.deepEqual(codes, ["FILE_PURGED_CONFLICT", "FILE_PURGED_CONFLICT", rejectionCode], "it happens once");
  assert.equal(await objects.head(key), null);
  const record = await recordOf(fileId);
  has(record, { status: "Purged", purgeReason: "job:size-mismatch", rejectionCode });
  await isAudited(record, "file.purge", { status: "Purged", reason: "job:size-mismatch", rejectionCode });
});

Deno.test("the checks of a reservation: body, permission, profile, type, size", async () => {
  const [invalid, denied, unknown] = ["400 VALIDATION_ERROR", "403 FORBIDDEN", "400 FILE_PROFILE_UNKNOWN"];
  const refusals: [change: Record<string, unknown>, expected: string][] = [
    [{ fileName: "\ud83d" }, invalid],
    [{ fileName: "\u200b\u200b" }, invalid],
    [{ contentType: "text/plain;\r\nx: y" }, invalid],
    [{ sizeBytes: 0, isProduct: true }, invalid],
    [{ isProduct: true, profile: "x" }, denied],
    [{ isProduct: true }, denied],
    [{ profile: "x", contentType: "a/b" }, unknown],
    [{ profile: "report" }, unknown],
    [{ contentType: "image/png", sizeBytes: 1e12 }, "422 FILE_CONTENT_TYPE_NOT_ALLOWED_UNPROCESSABLE"],
  ];
  for (const [change, expected] of refusals) await refused(expected, reserve(change));
  const over = await reserve({ sizeBytes: 52_428_801 });
  await refused("422 FILE_TOO_LARGE_UNPROCESSABLE", over);
  assert.match(over.body.detail, /52428800/);
  await accepted(reserve({ sizeBytes: 52_428_800 }));
  await accepted(reserve({ contentType: "Text/CSV; charset=iso-8859-1" }));
  const admin = await t.actor({ permissions: [...ALL, "admin:system"], tenantId: t.platformTenantId });
  const { fileId } = await files.reserve(admin, { ...aPdf, isProduct: true });
  has(await recordOf(fileId), { tenantId: null }); // every tenant can read a product file
});

Deno.test("an archive with too many levels is rejected with a reason", async () => {
  const bytes = zip([["a", zip([["b", zip([["c", zip([["d", "x"]])]])]])]]);
  const archive = { bytes, profile: "archive", contentType: "application/zip" };
  const record = await files.uploadAndScan(actor, archive);
  const rejected = { purgeReason: "job:archive-limits", rejectionCode: "FILE_ARCHIVE_LIMITS_UNPROCESSABLE" };
  has(record, { status: "Purged", ...rejected, sha256: sha256(bytes) });
  const [attempt] = (await actor.get(`/api/v1/files/${record.id}/scan-attempts`)).body;
  assert.equal(attempt.verdict, "TypeRejected");
  assert.match(attempt.errorMessage, /nested more than 3 levels/);
  const { body } = await downloadOf(record.id);
  assert.deepEqual(body.errors.rejectionCode, ["FILE_ARCHIVE_LIMITS_UNPROCESSABLE"]);
});

const p = t.platform;
const tenantId = actor.tenantId ?? "";
const logged = t.logs.length;

Deno.test("after a full run no key, bucket or storage host is in any answer, log, audit row or job", async () => {
  const answers: unknown[] = [];
  const ask = async (call: Promise<{ status: number; headers: Headers; body: unknown }>) => {
    const { headers, body } = await call;
    const { uploadUrl: _, url: __, ...visible } = body as Record<string, unknown>;
    answers.push(visible, [...headers]);
  };
  const contents = [
    aPdf,
    { bytes: eicar() },
    { bytes: noise(500), profile: "image", contentType: "image/png", fileName: "secret-name.png" },
  ];
  for (const content of contents) {
    const { id } = await files.uploadAndScan(actor, content);
    const path = `/api/v1/files/${id}`;
    await ask(actor.get(path));
    await ask(actor.post(`${path}/complete`));
    await ask(actor.get(`${path}/download-url`));
    await ask(actor.get(`${path}/scan-attempts`));
    await ask(actor.post(`${path}/references`, { scope: "a", ownerId: "b" }));
    await ask(actor.put(`${path}/retention`, { legalHold: true }));
    await ask(actor.post(`${path}/purge`, { reason: "x" }));
  }
  await ask(actor.get("/api/v1/files/scanner-status"));

  // Errors of the storage must not contain its address either.
  const broken = ["head", "copy", "read", "delete"] as const;
  for (const name of broken) {
    const { fileId } = await files.reserveAndPut(actor, aPdf);
    const endpoint = "http://storage.invalid:9";
    const place = { endpoint, publicEndpoint: endpoint, region: "r", bucket: "the-bucket", pathStyle: true };
    const dead = connectObjectStore({ ...place, accessKey: "a", secretKey: "b" });
    const putBack = t.replace((p) => p.objects, { [name]: dead[name] });
    await ask(actor.post(`/api/v1/files/${fileId}/complete`));
    const [job] = await sql<{ id: string }[]>`
      select id from jobs where serialized_args like ${`%${fileId}%`}`;
    if (job) await t.settled(job.id, ["Succeeded", "Scheduled"]);
    await ask(actor.get(`/api/v1/files/${fileId}/scan-attempts`));
    putBack();
  }
  await sql`update files set upload_expires_at = now() - interval '1 ms', retain_until = null, completed_at = now() - interval '100 days',
    legal_hold = false where tenant_id = ${tenantId}`;
  await expireReservations(p);
  await collectExpired(p);

  const visible = JSON.stringify([
    answers,
    t.logs.slice(logged),
    await sql`select * from audit_log where tenant_id = ${tenantId}`,
    await sql`select serialized_args, last_error, wait_reason from jobs where tenant_id = ${tenantId}`,
    await sql`select e.error_message, e.output from job_executions e join jobs j on j.id = e.job_id
      where j.tenant_id = ${tenantId}`,
  ]);
  const keys = await sql<{ key: string }[]>`
    select key from files, unnest(array[staging_key, final_key]) key where tenant_id = ${tenantId} and key is not null`;
  assert.ok(keys.length >= 8);
  for (const { key } of keys) {
    assert.ok(!visible.includes(key.split("/")[1] ?? key), "an object key is in an answer or log");
    assert.match(key, /^(staging|files)\/[\w-]{32}$/);
  }
  const { host } = new URL((await files.reserve(actor, aPdf)).uploadUrl);
  assert.ok(!visible.includes(host), "the storage host is in an answer or log");
  for (const word of ["storage.invalid", "the-bucket", "X-Amz-"]) assert.ok(!visible.includes(word), word);
  assert.ok(answers.length > 30);
});

Deno.test("a signed URL contains neither name nor tenant nor id of the file", async () => {
  const content = { ...aPdf, fileName: "secret-name.pdf" };
  const { uploadUrl, fileId } = await files.reserve(actor, content);
  const { body } = await downloadOf((await files.uploadAndScan(actor, content)).id);
  const path = new URL(body.url).pathname;
  for (const word of ["secret-name", tenantId, fileId]) {
    assert.ok(!uploadUrl.includes(word) && !path.includes(word), word);
  }
});
